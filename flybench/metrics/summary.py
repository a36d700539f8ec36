"""One row of figures a method: what `summary.json` holds, from a run's files alone.

Names and formulas are those of the glossary in `flybench/metrics/glossary.py`. A figure that the
data cannot give is None, never 0; `too_few` names those that would rest on a tiny count.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from flybench.config import BASELINE, BASELINES
from flybench.metrics.divergence import DIVERGENCE, divergence
from flybench.metrics.frames import methods_of, round_frame, sample_frame
from flybench.metrics.judge import PairwiseCounts, judged
from flybench.metrics.loose import AUDIT, audit
from flybench.metrics.round_costs import LIMIT, bandwidth_limit, bytes_ratio, energy, round_costs
from flybench.metrics.stats import (
    Pairs,
    accuracy_interval,
    bootstrap,
    mcnemar,
    rate_ratio,
    ratio,
    retention_interval,
    retention_verdict,
)
from flybench.metrics.suppression import without_tiny_ratios
from flybench.records.folder import DRAFT_IDS, RunFolder

Row = dict[str, Any]
# Figures that are several counts, and what each of them counts.
PARTS = {
    "pairs": Pairs._fields,
    "loose_flips": ("lost", "won"),
    "pairwise": PairwiseCounts._fields,
}


def summarise(folder: RunFolder) -> list[Row]:
    """One row a method, AR first."""
    provenance = folder.provenance()
    baseline, plain = sample_frame(folder, "ar"), round_frame(folder, "ar")
    rows = []
    for method in methods_of(folder):
        samples, rounds = sample_frame(folder, method), round_frame(folder, method)
        failed = [r for r in folder.records().values() if r.method == method and r.error]
        row: Row = {"model": provenance["model"], "task": provenance["task"], "method": method}
        row |= {"n": len(samples), "n_error": len(failed)}
        row |= _quality(folder, method, samples)
        row |= _retention(baseline, samples, provenance["retention_margin"], method)
        row |= judged(folder, method)
        row |= _speedups(baseline, samples, method)
        row |= _acceptance(samples, rounds)
        drafts = method not in BASELINES
        row |= audit(samples, baseline) if drafts else dict.fromkeys(AUDIT)
        row["draft_coverage"] = draft_coverage(folder, baseline) if drafts else None
        row |= round_costs(plain, rounds, method)
        row |= bandwidth_limit(samples, provenance) if method == "ar" else dict.fromkeys(LIMIT)
        row["bytes_ratio"] = bytes_ratio(provenance) if drafts else None
        row |= energy(samples)
        row |= dict.fromkeys(DIVERGENCE) if method == BASELINE else divergence(baseline, samples)
        row |= {"device": provenance["device"], "engine": provenance["engine"]}
        row = without_tiny_ratios(row, samples)
        rows.append({name: _plain(value) for name, value in row.items()})
    return rows


def judge_failures(rows: list[Row]) -> int:
    """Calls of the judge that failed; a judging that is tried again makes them good."""
    return sum(row["judge_failed"] or 0 for row in rows)


def write_summary(folder: RunFolder) -> list[Row]:
    """Write `summary.json`, and `summary.csv` with one column for each end of an interval."""
    rows = summarise(folder)
    folder.write_json("summary.json", rows)
    flat = [
        dict(pair for name, cell in row.items() for pair in _columns(name, cell)) for row in rows
    ]
    folder.write("summary.csv", pd.DataFrame(flat).to_csv(index=False))
    return rows


def _quality(folder: RunFolder, method: str, samples: pd.DataFrame) -> Row:
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


def _retention(baseline: pd.DataFrame, samples: pd.DataFrame, margin: float, method: str) -> Row:
    """Accuracy kept, over the pairs that were judged, which `pairs` counts by their outcome.

    Grades are no right or wrong, so that there is nothing to count.
    """
    names = ("retention", "retention_ci", "retention_verdict", "pairs", "mcnemar_p")
    if method == "ar":
        return dict.fromkeys(names)
    pairs = baseline[["correct"]].join(samples[["correct"]], rsuffix="_method").dropna()
    if not len(pairs):
        return dict.fromkeys(names)
    before, after = pairs["correct"], pairs["correct_method"]
    interval = retention_interval(before, after)
    counts = None if samples["graded"].any() else Pairs.of(before, after)
    values = (
        ratio(after, before),
        interval,
        retention_verdict(interval, margin),
        None if counts is None else list(counts),
        None if counts is None else mcnemar(counts.lost, counts.won),
    )
    return dict(zip(names, values, strict=True))


def _speedups(baseline: pd.DataFrame, samples: pd.DataFrame, method: str) -> Row:
    row: Row = {
        "tokens_per_second": ratio(samples["tokens"], samples["decode_s"]),
        "ttft_s": _median(samples["ttft_s"]),
        "prefill_s": _mean(samples["prefill_s"]),
        "time_to_answer_s": _mean(samples["total_s"]),
        "peak_memory_bytes": max(samples["peak_memory_bytes"], default=0) or None,
    }
    names = ("speedup_throughput", "speedup_latency")
    if method == "ar":
        row |= {"ar_tokens_per_second": row["tokens_per_second"], "n_paired": None}
        return row | dict.fromkeys([*names, *(f"{name}_ci" for name in names), "length_ratio"])
    pairs = baseline.join(samples, rsuffix="_method", how="inner")
    tokens = pairs["tokens"], pairs["tokens_method"]
    seconds = pairs["decode_s"], pairs["decode_s_method"]
    total = pairs["total_s"], pairs["total_s_method"]

    columns = (tokens[0], seconds[0], tokens[1], seconds[1])
    with np.errstate(divide="ignore", invalid="ignore"):  # nothing emitted: no figure
        point = rate_ratio(*(np.array(column.sum()) for column in columns)) if len(pairs) else None
    return row | {
        "n_paired": len(pairs),
        "ar_tokens_per_second": ratio(tokens[0], seconds[0]),
        "speedup_throughput": point,
        "speedup_throughput_ci": bootstrap(rate_ratio, *columns),
        "speedup_latency": ratio(*total),
        "speedup_latency_ci": bootstrap(lambda ar, own: ar / own, *total),
        "length_ratio": ratio(tokens[1], tokens[0]),
    }


def _acceptance(samples: pd.DataFrame, rounds: pd.DataFrame) -> Row:
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
    """The share of AR's tokens that the drafter could have proposed; None if it knows every id."""
    known = folder.read_json(DRAFT_IDS)
    if known is None or not len(baseline):
        return None
    tokens = np.concatenate(baseline["ids"].to_list())
    return float(np.isin(tokens, known).mean()) if len(tokens) else None


def _mean(values: pd.Series) -> float | None:
    return float(values.mean()) if len(values) else None


def _median(values: pd.Series) -> float | None:
    return float(values.median()) if len(values) else None


def _plain(value: Any) -> Any:
    """JSON's own types; a figure that is no number becomes None."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic | np.ndarray):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


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
