"""Glossary entries on samples and accuracy."""

from __future__ import annotations

from flybench.metrics.glossary.entry import Entry

ACCURACY: dict[str, Entry] = {
    "model": Entry("model", "", "Name of the draft-target pair."),
    "task": Entry("task", "", "Name of the task, which defines prompts and scoring."),
    "method": Entry(
        "method",
        "",
        "Decoding method; ar is autoregressive decoding in the same loop, ar_again its repeat.",
    ),
    "n": Entry("samples", "", "Samples that finished without an error.", digits=0),
    "n_error": Entry(
        "failed", "", "Samples that failed; excluded from all other metrics.", digits=0
    ),
    "n_scored": Entry("scored", "", "Finished samples that the scorer judged.", digits=0),
    "n_right": Entry(
        "right",
        "",
        "Sum of the scores over scored samples; undefined for graded answers.",
        digits=0,
    ),
    "n_paired": Entry("paired", "", "Samples that both AR and the method finished.", digits=0),
    "accuracy": Entry(
        "accuracy",
        "%",
        "Right answers / scored samples. For answers graded by a model: mean grade / 10, where the "
        "grade of a sample is the mean over its turns.",
        100,
        1,
    ),
    "accuracy_ci": Entry(
        "accuracy, interval",
        "%",
        "Bootstrap with one pseudo-success and one pseudo-failure added, which keeps the width "
        "above zero when all answers are correct.",
        100,
        1,
    ),
    "metrics": Entry("scoring rules", "%", "Mean score of each scoring rule.", 100, 1),
    "retention": Entry(
        "retention", "%", "Accuracy of the method / accuracy of AR, over paired samples.", 100, 1
    ),
    "retention_ci": Entry(
        "retention, interval",
        "%",
        "Paired bootstrap with two pseudo-pairs added: one solved only by AR, one only by the "
        "method.",
        100,
        1,
    ),
    "retention_verdict": Entry(
        "verdict",
        "",
        "kept: the interval of retention is entirely at or above 1 − margin; lost: entirely below; "
        "not resolved: it spans 1 − margin.",
    ),
    "pairs": Entry(
        "both / lost / won / neither",
        "pairs",
        "Pairs solved by both / only AR / only the method / neither.",
        digits=0,
    ),
    "mcnemar_p": Entry(
        "McNemar p",
        "",
        "p-value of the exact two-sided McNemar test on the discordant pairs; the null hypothesis "
        "is equal accuracy.",
        digits=3,
    ),
    "holm_p": Entry(
        "McNemar p, corrected",
        "",
        "McNemar p after Holm's step-down correction for all accuracy tests in the report, one per "
        "run and method.",
        digits=3,
    ),
    "pooled": Entry(
        "pooled",
        "",
        "Metric over the answers of all seeds. Its interval resamples samples with the answers of "
        "all seeds, and resamples seeds for variance common to all samples of a seed.",
    ),
    "between_seeds": Entry(
        "between seeds",
        "",
        "Standard deviation of one run's value from seed to seed, on the same samples.",
        digits=3,
    ),
    "between_samples": Entry(
        "between samples",
        "",
        "Standard error of one run's value due to the choice of samples, without token sampling: "
        "√((MS_samples − MS_rest) / (S·n)) of a two-way analysis of variance.",
        digits=3,
    ),
    "truncation_rate": Entry(
        "truncated", "%", "Samples truncated at the length limit / samples.", 100, 1
    ),
    "repetition_rate": Entry(
        "in loops",
        "% of tokens",
        "Tokens in loops / ΣN. A loop is at least four consecutive copies of one n-gram of up to "
        "64 tokens, over at least 24 tokens.",
        100,
        1,
    ),
}
