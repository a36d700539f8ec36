"""Every figure that a summary or report shows: its label, unit and formula, and how to print it.

Letters: N = emitted tokens kept after truncation (an end-of-sequence id included), R = rounds of
the target, D = drafted tokens, A = drafted tokens accepted and kept; `_ar` marks AR's own; sums
run over samples. Every interval is a 95 % bootstrap over samples.
"""

from __future__ import annotations

from flybench.core.outcomes import Outcome
from flybench.metrics.glossary_costs import COSTS
from flybench.metrics.glossary_entry import Entry
from flybench.metrics.glossary_judged import JUDGED
from flybench.metrics.suppression import COUNTED, FEWEST

GLOSSARY: dict[str, Entry] = {
    "model": Entry("model", "", "Name of the draft-target pair."),
    "task": Entry("task", "", "Name of the task: the prompts and how answers are scored."),
    "method": Entry(
        "method",
        "",
        "How tokens are decoded; ar is plain decoding in the same loop, ar_again its second turn.",
    ),
    "n": Entry("samples", "", "Samples that finished without an error.", digits=0),
    "n_error": Entry("failed", "", "Samples that failed; they enter no other figure.", digits=0),
    "n_scored": Entry("scored", "", "Finished samples that the scorer judged.", digits=0),
    "n_right": Entry(
        "right",
        "",
        "Sum of the verdicts on scored samples; none where answers are graded.",
        digits=0,
    ),
    "n_paired": Entry("paired", "", "Samples that both AR and the method finished.", digits=0),
    "accuracy": Entry(
        "accuracy",
        "%",
        "Right answers / scored samples. Where a model grades: mean grade / 10, the grade of a "
        "sample being the mean over its turns.",
        100,
        1,
    ),
    "accuracy_ci": Entry(
        "accuracy, interval",
        "%",
        "Bootstrap with one pseudo-success and one pseudo-failure added, so that n right of n "
        "never claims certainty.",
        100,
        1,
    ),
    "metrics": Entry("scoring rules", "%", "Mean of each scoring rule's verdict.", 100, 1),
    "retention": Entry(
        "retention", "%", "Accuracy of the method / accuracy of AR, over pairs.", 100, 1
    ),
    "retention_ci": Entry(
        "retention, interval",
        "%",
        "Paired bootstrap with two pseudo-pairs added, one solved only by AR and one only by the "
        "method.",
        100,
        1,
    ),
    "retention_verdict": Entry(
        "verdict",
        "",
        "kept: the whole interval of retention is at or above 1 − margin; lost: all of it is "
        "below; not resolved: it spans 1 − margin, so the data cannot tell.",
    ),
    "pairs": Entry(
        "both / lost / won / neither",
        "pairs",
        "Pairs that both solved / only AR / only the method / neither.",
        digits=0,
    ),
    "mcnemar_p": Entry(
        "McNemar p",
        "",
        "Exact two-sided probability of so uneven a split of the discordant pairs, were both "
        "methods equally accurate.",
        digits=3,
    ),
    "holm_p": Entry(
        "McNemar p, corrected",
        "",
        "McNemar p after Holm's step-down correction for every test of accuracy in the report: one "
        "a run and method.",
        digits=3,
    ),
    "pooled": Entry(
        "pooled",
        "",
        "A figure of the answers of all seeds together. Its interval resamples samples with all "
        "their seeds, and by seeds what is common to the samples of one.",
    ),
    "between_seeds": Entry(
        "between seeds",
        "",
        "Standard deviation of one run's figure from seed to seed, on the same samples.",
        digits=3,
    ),
    "between_samples": Entry(
        "between samples",
        "",
        "Standard error of one run's figure for the samples that were asked: √((MS_samples − "
        "MS_rest) / (S·n)) of a two-way analysis of variance, so that the draws' share is out.",
        digits=3,
    ),
    "truncation_rate": Entry(
        "hit the cap", "%", "Samples cut off at the length cap / samples.", 100, 1
    ),
    "repetition_rate": Entry(
        "in loops",
        "% of tokens",
        "Tokens in loops / ΣN. A loop is a stretch in which one n-gram of up to 64 tokens follows "
        "itself back to back, at least four times and over at least 24 tokens.",
        100,
        1,
    ),
    "speedup_throughput": Entry(
        "speed-up, throughput", "×", "(ΣN / Σdecode_s) / (ΣN_ar / Σdecode_s_ar), over pairs."
    ),
    "speedup_throughput_ci": Entry(
        "speed-up, throughput, interval", "×", "Paired bootstrap over samples."
    ),
    "speedup_latency": Entry(
        "speed-up, time to answer",
        "×",
        "Σtotal_s_ar / Σtotal_s, over pairs; prefill included. It differs from the throughput "
        "ratio where the method's answers are longer or shorter.",
    ),
    "speedup_latency_ci": Entry(
        "speed-up, time to answer, interval", "×", "Paired bootstrap over samples."
    ),
    "length_ratio": Entry("length ratio", "×", "ΣN / ΣN_ar, over pairs."),
    "tokens_per_second": Entry("throughput", "tokens/s", "ΣN / Σdecode_s; prefill excluded.", 1, 1),
    "ar_tokens_per_second": Entry(
        "AR's throughput", "tokens/s", "ΣN_ar / Σdecode_s_ar over the paired samples.", 1, 1
    ),
    "ttft_s": Entry(
        "time to first token",
        "ms",
        "Median. The first token comes from round 1, so that its drafting is included.",
        1000,
        1,
    ),
    "prefill_s": Entry("prefill", "ms", "Mean prefill time of a sample.", 1000, 1),
    "time_to_answer_s": Entry("time to answer", "s", "Mean total_s = prefill_s + decode_s."),
    "peak_memory_bytes": Entry(
        "peak memory", "GiB", "Largest over samples; the process's peak on a CPU.", 2.0**-30
    ),
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

FATES: dict[Outcome, str] = {
    Outcome.EXACT: "accepted: equals the target's own choice",
    Outcome.LOOSE: "accepted: differs from the target's choice, and a loose rule kept it",
    Outcome.SAMPLED: "accepted: kept by rejection sampling",
    Outcome.GATE: "rejected: the target is sure here",
    Outcome.WINDOW: "rejected: the target disagrees again within the window",
    Outcome.TAIL: "rejected: the window does not fit in the draft",
    Outcome.REJECTED: "rejected: by a rule that gives no reason",
    Outcome.NOT_REACHED: "never judged: after the first rejection, or on a branch not taken",
}
GLOSSARY |= COSTS | JUDGED
GLOSSARY |= {
    f"fate_{outcome.name.lower()}": Entry(
        outcome.name.lower(), "drafted tokens", f"{text}.", digits=0
    )
    for outcome, text in FATES.items()
}
