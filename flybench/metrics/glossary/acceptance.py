"""The glossary's figures of drafts, loose tokens and divergence; letters as in the package."""

from __future__ import annotations

from flybench.metrics.glossary.entry import Entry
from flybench.metrics.suppression import COUNTED, FEWEST

ACCEPTANCE: dict[str, Entry] = {
    "tau_pooled": Entry(
        "τ pooled", "tokens/round", "ΣN / ΣR; the correction or bonus token is included."
    ),
    "tau_mean": Entry("τ mean", "tokens/round", "Mean over samples of N / R."),
    "accept_rate": Entry("accept rate", "%", "ΣA / ΣD.", 100, 1),
    "draft_coverage": Entry(
        "draft vocabulary",
        "% of AR",
        "AR's tokens that the drafter could propose / AR's tokens; for drafters of a part of the "
        "vocabulary.",
        100,
        2,
    ),
    "loose_per_1000": Entry(
        "loose tokens",
        "per 1000",
        "1000 · Σloose / ΣN: kept tokens that are not the target's own choice.",
        1,
        1,
    ),
    "loose_classes": Entry(
        "loose tokens by class",
        "per 1000",
        "1000 · loose tokens of a class / ΣN. A class looks at the token, at what the target "
        "preferred and at the place: ending (one of them ends the answer), digit (number words "
        "too), format, sign or unit, negation, quote or copy (the favourite would have gone on "
        "with four tokens copied from the text before), identifier, function word, other; the "
        "first that fits. Records of earlier versions lack places or copies.",
    ),
    "loose_improbable": Entry(
        "improbable loose tokens",
        "%",
        "Loose tokens with less than a fifth of the favourite's probability / loose tokens.",
        100,
        1,
    ),
    "loose_opening": Entry(
        "loosened openings",
        "%",
        "Samples with a loose token among the first 8 of an answer / samples: one there can turn "
        "a short answer into a long one.",
        100,
        1,
    ),
    "loose_flips": Entry(
        "lost / won after a loose token",
        "pairs",
        "Judged pairs that the method lost / won where its answer has loose tokens.",
        digits=0,
    ),
    "loose_harmful": Entry(
        "harmful acceptances",
        "tokens",
        "Loose tokens of answers that the method got wrong and AR right, up to the end of what the "
        "scorer read, or in the whole answer where it read nothing that stands there.",
        digits=0,
    ),
    "ms_per_round": Entry(
        "time per round",
        "ms",
        "Mean time of a round by phase. draft: proposing; verify: scoring and judging; other: the "
        "copy to the host, stopping and committing.",
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
        "First divergences at which AR's own top-2 logit gap was below 0.125, and that no loose "
        "rule made: a near tie that another order of additions can flip.",
        digits=0,
    ),
    "too_few": Entry(
        "too few",
        "",
        f"Ratios that are not given, with the count below the line, fewer than {FEWEST}, of "
        "samples fewer than 2: "
        + "; ".join(f"{name} ({what})" for name, what in COUNTED.items())
        + ".",
        digits=0,
    ),
    "device": Entry("device", "", "Hardware that decoded."),
    "engine": Entry("engine", "", "How the models were run."),
    "emitted": Entry(
        "emitted tokens",
        "tokens/round",
        "Tokens that one round added: the accepted ones and the target's own.",
        digits=0,
    ),
    "accept_at": Entry(
        "accepted up to here",
        "%",
        "Rounds that accepted at least i tokens / rounds that drafted at least i (i = position).",
        100,
        1,
    ),
    "accept_cond": Entry(
        "accepted if the one before was",
        "%",
        "Rounds that accepted at least i tokens / those that drafted i and accepted i − 1.",
        100,
        1,
    ),
}
