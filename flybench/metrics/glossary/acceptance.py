"""Glossary entries on drafts, loose tokens and divergence; symbols as in the package."""

from __future__ import annotations

from flybench.metrics.glossary.entry import Entry
from flybench.metrics.suppression import DENOMINATORS, MIN_COUNT

ACCEPTANCE: dict[str, Entry] = {
    "tau_pooled": Entry(
        "τ pooled",
        "tokens/round",
        "Mean acceptance length: ΣN / ΣR, including the correction or bonus token.",
    ),
    "tau_mean": Entry("τ mean", "tokens/round", "Mean over samples of N / R."),
    "accept_rate": Entry("acceptance rate", "%", "ΣA / ΣD.", 100, 1),
    "draft_coverage": Entry(
        "draft vocabulary coverage",
        "% of AR",
        "AR's tokens in the drafter's vocabulary / AR's tokens; only for drafters with a reduced "
        "vocabulary.",
        100,
        2,
    ),
    "loose_per_1000": Entry(
        "loose tokens",
        "per 1000",
        "1000 · Σloose / ΣN. A loose token was accepted although it is not the target's argmax.",
        1,
        1,
    ),
    "loose_classes": Entry(
        "loose tokens by class",
        "per 1000",
        "1000 · loose tokens of a class / ΣN. The class depends on the token, the target's top-1 "
        "token and the position; the first match counts: ending (either token ends the answer), "
        "digit (including number words), format, sign or unit, negation, quote or copy (the top-1 "
        "token would continue four tokens copied from the preceding text), identifier, function "
        "word, other. Records from earlier versions lack positions or copies.",
    ),
    "loose_improbable": Entry(
        "improbable loose tokens",
        "%",
        "Loose tokens with less than a fifth of the top-1 probability / loose tokens.",
        100,
        1,
    ),
    "loose_opening": Entry(
        "loose openings",
        "%",
        "Samples with a loose token among the first 8 tokens of an answer / samples. An early "
        "loose token can change the form and the length of the whole answer.",
        100,
        1,
    ),
    "loose_flips": Entry(
        "lost / won after a loose token",
        "pairs",
        "Judged pairs that the method lost / won with loose tokens in its answer.",
        digits=0,
    ),
    "loose_harmful": Entry(
        "loose tokens before a loss",
        "tokens",
        "Loose tokens in answers that the method got wrong and AR right, up to the end of the text "
        "that the scorer extracted, or in the whole answer if that text does not occur in it.",
        digits=0,
    ),
    "ms_per_round": Entry(
        "time per round",
        "ms",
        "Mean time of a round by phase. draft: proposing tokens; verify: the target's forward pass "
        "and the acceptance rule; other: copy to the host, stop checks and commit.",
    ),
    "exact_match_rate": Entry(
        "equal to AR", "%", "Samples whose token ids equal AR's / paired samples.", 100, 1
    ),
    "first_divergence_median": Entry(
        "first divergence",
        "token",
        "Median index (0 = first token) of the first token that differs from AR's, among samples "
        "that differ.",
        digits=0,
    ),
    "tie_flips": Entry(
        "tie flips",
        "samples",
        "First divergences where AR's top-2 logit gap is below 0.125 and the method's token is not "
        "loose: near ties that a different summation order can flip.",
        digits=0,
    ),
    "too_few": Entry(
        "too few",
        "",
        f"Suppressed ratios with their denominator, which is below {MIN_COUNT}, or below 2 for "
        "samples: " + "; ".join(f"{name} ({unit})" for name, unit in DENOMINATORS.items()) + ".",
        digits=0,
    ),
    "device": Entry("device", "", "Hardware used for decoding."),
    "engine": Entry("engine", "", "Engine that ran the models."),
    "emitted": Entry(
        "emitted tokens",
        "tokens/round",
        "Tokens emitted by one round: the accepted tokens plus the target's own token.",
        digits=0,
    ),
    "accept_at": Entry(
        "acceptance up to position",
        "%",
        "Rounds that accepted at least i tokens / rounds that drafted at least i, for position i.",
        100,
        1,
    ),
    "accept_cond": Entry(
        "conditional acceptance",
        "%",
        "Rounds that accepted at least i tokens / rounds that drafted i and accepted i − 1.",
        100,
        1,
    ),
}
