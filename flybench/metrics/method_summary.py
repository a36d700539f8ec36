"""Typed metrics of one method of one run: a row of `summary.json`.

The glossary (`flybench.metrics.glossary`) lists every field with its unit and formula.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from flybench.metrics.paired import Estimate, RetentionVerdict
from flybench.metrics.stats import Interval, Pairs


class PairwiseCounts(NamedTuple):
    """Pairwise comparisons by outcome, from the method's side."""

    wins: int
    ties: int
    losses: int


class FlipCounts(NamedTuple):
    """Judged pairs that the method lost and that it won."""

    lost: int
    won: int


class MethodSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics of one method; None where undefined. `row[name]` looks a metric up by name."""

    model: str
    task: str
    method: str
    n: int
    n_error: int
    n_scored: int
    n_right: float | None
    accuracy: float | None
    accuracy_ci: Interval | None
    metrics: dict[str, float | None]
    truncation_rate: float | None
    repetition_rate: float | None
    retention: float | None
    retention_ci: Interval | None
    retention_verdict: RetentionVerdict | None
    pairs: Pairs | None
    mcnemar_p: float | None
    judge: str | None
    pairwise: PairwiseCounts | None
    win_rate: float | None
    win_rate_ci: Interval | None
    judge_inconsistent: int | None
    judge_asked: int | None
    judge_unparseable: int | None
    judge_failed: int | None
    judge_tokens_in: int | None
    judge_tokens_out: int | None
    judge_cost: int | float | None
    tokens_per_second: float | None
    ttft_s: float | None
    prefill_s: float | None
    time_to_answer_s: float | None
    peak_memory_bytes: int | None
    ar_tokens_per_second: float | None
    n_paired: int | None
    speedup_throughput: float | None
    speedup_latency: float | None
    speedup_throughput_ci: Interval | None
    speedup_latency_ci: Interval | None
    length_ratio: float | None
    tau_pooled: float | None
    tau_mean: float | None
    accept_rate: float | None
    loose_per_1000: float | None
    ms_per_round: dict[str, float | None]
    loose_classes: dict[str, float] | None
    loose_improbable: float | None
    loose_opening: float | None
    loose_flips: FlipCounts | None
    loose_harmful: int | None
    draft_coverage: float | None
    step_s: float | None
    ar_overhead_ratio: float | None
    gamma: float | None
    cost_ratio: float | None
    verify_ratio: float | None
    overhead_ratio: float | None
    speedup_modelled: float | None
    read_bandwidth: float | None
    bytes_per_token: float | None
    bandwidth_share: float | None
    regime: str | None
    bytes_ratio: float | None
    energy_per_token_j: float | None
    throttled_samples: int | None
    exact_match_rate: float | None
    first_divergence_median: float | None
    tie_flips: int | None
    device: str
    engine: str
    too_few: dict[str, int]

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def given(self, name: str) -> float:
        """Return a metric as a number; 0 if it is undefined."""
        return float(self[name] or 0)

    def estimate(self, name: str) -> Estimate:
        """Return a metric with its interval and the number of samples behind it."""
        counts = {
            "accuracy": self.n_scored,
            "retention": sum(self.pairs or ()) or self.n_scored,
            "win_rate": sum(self.pairwise or ()),
        }
        return Estimate(counts.get(name, self.n_paired or 0), self[name], self[f"{name}_ci"])

    def plain(self) -> dict[str, Any]:
        """Return the row as plain JSON types, in the order of `summary.json`."""
        plain = msgspec.structs.asdict(self).items()
        row = {name: list(each) if isinstance(each, tuple) else each for name, each in plain}
        if self.n_paired is None:
            return row
        # AR's rows keep these in field order.
        moved = {name: row.pop(name) for name in PAIRED_FIGURES}
        return _inserted(row, moved, before="length_ratio")


# Order of a compared method's paired metrics in `summary.json`.
PAIRED_FIGURES = (
    *("n_paired", "ar_tokens_per_second", "speedup_throughput", "speedup_throughput_ci"),
    *("speedup_latency", "speedup_latency_ci"),
)


def _inserted(row: dict[str, Any], moved: dict[str, Any], before: str) -> dict[str, Any]:
    ordered: dict[str, Any] = {}
    for name, value in row.items():
        ordered |= moved if name == before else {}
        ordered[name] = value
    return ordered
