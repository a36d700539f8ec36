"""The glossary's figures of samples and of accuracy."""

from __future__ import annotations

from flybench.metrics.glossary.entry import Entry

ACCURACY: dict[str, Entry] = {
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
}
