"""One row of metrics per method, written to `summary.json` and computed only from a run's files.

Names and formulas are defined in `flybench/metrics/glossary`. An undefined metric is None, never 0;
`too_few` names the metrics that were suppressed because their count was too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from flybench.config import BASELINE, BASELINES
from flybench.core.files import json_plain
from flybench.metrics.divergence import DIVERGENCE, divergence
from flybench.metrics.frames import methods_of, round_frame, sample_frame
from flybench.metrics.judge import judged
from flybench.metrics.loose import LOOSE_METRICS, loose_metrics
from flybench.metrics.method_summary import FlipCounts, MethodSummary, PairwiseCounts
from flybench.metrics.paired import Paired
from flybench.metrics.round_costs import LIMIT, bandwidth_limit, bytes_ratio, energy, round_costs
from flybench.metrics.stats import Pairs, accuracy_interval, ratio
from flybench.metrics.suppression import without_tiny_ratios
from flybench.records.cached import CachedFolder
from flybench.records.folder import DRAFT_IDS, RunFolder

Figures = dict[str, Any]
# Metrics that consist of several counts, with the name of each count.
PARTS = {
    "pairs": Pairs._fields,
    "loose_flips": FlipCounts._fields,
    "pairwise": PairwiseCounts._fields,
}
LENGTHS = ("n_paired", "length_ratio")


def summarise(folder: RunFolder) -> list[MethodSummary]:
    """Return one row per method, AR first."""
    cached = CachedFolder.of(folder)
    return [method_summary(cached, method) for method in methods_of(cached)]


def method_summary(folder: CachedFolder, method: str) -> MethodSummary:
    """Return the row of one method."""
    provenance = folder.provenance()
    samples, rounds = sample_frame(folder, method), round_frame(folder, method)
    baseline = sample_frame(folder, BASELINE)
    pair = None if method == BASELINE else Paired(baseline, samples)
    failed = [r for r in folder.records().values() if r.method == method and r.error]
    drafts = method not in BASELINES
    row: Figures = {
        **{name: provenance[name] for name in ("model", "task", "device", "engine")},
        **{"method": method, "n": len(samples), "n_error": len(failed)},
        **_quality(folder, method, samples),
        **_retention(pair, provenance["retention_margin"]),
        **judged(folder, method),
        **_times(samples),
        **_speedups(pair),
        **_acceptance(samples, rounds),
        **(loose_metrics(samples, baseline) if drafts else dict.fromkeys(LOOSE_METRICS)),
        "draft_coverage": draft_coverage(folder, baseline) if drafts else None,
        **round_costs(round_frame(folder, BASELINE), rounds, method),
        **(dict.fromkeys(LIMIT) if pair else bandwidth_limit(samples, provenance)),
        "bytes_ratio": bytes_ratio(provenance) if drafts else None,
        **energy(samples),
        **(divergence(baseline, samples) if pair else dict.fromkeys(DIVERGENCE)),
    }
    if pair is None:
        row["ar_tokens_per_second"] = row["tokens_per_second"]
    return msgspec.convert(json_plain(without_tiny_ratios(row, samples)), MethodSummary)


def judge_failures(rows: Sequence[MethodSummary]) -> int:
    """Count the judge calls that failed; scoring again retries them."""
    return sum(row.judge_failed or 0 for row in rows)


def write_summary(folder: RunFolder) -> list[MethodSummary]:
    """Write `summary.json`, and `summary.csv` with one column per interval end."""
    rows = summarise(folder)
    folder.write_json("summary.json", [row.plain() for row in rows])
    flat = [
        dict(pair for name, cell in row.plain().items() for pair in _columns(name, cell))
        for row in rows
    ]
    folder.write("summary.csv", pd.DataFrame(flat).to_csv(index=False))
    return rows


def _quality(folder: RunFolder, method: str, samples: pd.DataFrame) -> Figures:
    right = samples["correct"].dropna()
    scores = [score for (_, name), score in folder.scores().items() if name == method]
    metrics = pd.DataFrame([score.metrics for score in scores])
    return {
        "n_scored": len(right),
        "n_right": None if samples["graded"].any() else float(right.sum()),
        "accuracy": _mean(right),
        "accuracy_ci": accuracy_interval(right),
        "metrics": {str(name): _mean(metrics[name].dropna()) for name in metrics},
        "truncation_rate": _mean(samples["capped"]),
        "repetition_rate": ratio(samples["looped"], samples["tokens"]),
    }


def _retention(pair: Paired | None, margin: float) -> Figures:
    """Retention over judged pairs, and the counts of these by outcome.

    Grades are not right or wrong, so graded pairs are not counted.
    """
    names = ("retention", "retention_ci", "retention_verdict", "pairs", "mcnemar_p")
    if pair is None or not len(pair.judged):
        return dict.fromkeys(names)
    kept, counts = pair.retention(), pair.discordant()
    p = None if counts is None else counts.p
    return dict(
        zip(names, (kept.point, kept.interval, kept.verdict(margin), counts, p), strict=True)
    )


def _times(samples: pd.DataFrame) -> Figures:
    return {
        "tokens_per_second": ratio(samples["tokens"], samples["decode_s"]),
        "ttft_s": _median(samples["ttft_s"]),
        "prefill_s": _mean(samples["prefill_s"]),
        "time_to_answer_s": _mean(samples["total_s"]),
        "peak_memory_bytes": max(samples["peak_memory_bytes"], default=0) or None,
    }


def _speedups(pair: Paired | None) -> Figures:
    if pair is None:
        names = ("speedup_throughput", "speedup_latency")
        return dict.fromkeys([*names, *(f"{name}_ci" for name in names), *LENGTHS])
    throughput, latency = pair.throughput(), pair.speedup()
    return {
        "n_paired": len(pair.table),
        "ar_tokens_per_second": ratio(pair.table["tokens_ar"], pair.table["decode_s_ar"]),
        "speedup_throughput": throughput.point,
        "speedup_throughput_ci": throughput.interval,
        "speedup_latency": latency.point,
        "speedup_latency_ci": latency.interval,
        "length_ratio": pair.length_ratio(),
    }


def _acceptance(samples: pd.DataFrame, rounds: pd.DataFrame) -> Figures:
    phases = ("draft_s", "verify_s", "other_s")
    loose = ratio(samples["loose"], samples["tokens"])
    return {
        "tau_pooled": ratio(samples["tokens"], samples["rounds"]),
        "tau_mean": _mean(samples["tokens"] / samples["rounds"]),
        "accept_rate": ratio(samples["accepted"], samples["drafted"]),
        "loose_per_1000": None if loose is None else 1000 * loose,
        "ms_per_round": {
            phase[:-2]: 1000 * rounds[phase].mean() for phase in phases if len(rounds)
        },
    }


def draft_coverage(folder: RunFolder, baseline: pd.DataFrame) -> float | None:
    """Return the share of AR's tokens in the drafter's vocabulary; None for a full vocabulary."""
    draft_ids = folder.read_json(DRAFT_IDS)
    if draft_ids is None or not len(baseline):
        return None
    tokens = np.concatenate(baseline["ids"].to_list())
    return float(np.isin(tokens, draft_ids).mean()) if len(tokens) else None


def _mean(values: pd.Series) -> float | None:
    return float(values.mean()) if len(values) else None


def _median(values: pd.Series) -> float | None:
    return float(values.median()) if len(values) else None


def _columns(name: str, cell: Any) -> list[tuple[str, Any]]:
    if name.endswith("_ci"):
        low, high = cell or (None, None)
        return [(f"{name}_low", low), (f"{name}_high", high)]
    if name in PARTS:
        parts = cell or [None] * len(PARTS[name])
        return [(f"{name}_{part}", n) for part, n in zip(PARTS[name], parts, strict=True)]
    if isinstance(cell, dict):
        return [(f"{name}_{key}", value) for key, value in cell.items()]
    return [(name, cell)]
