"""The table that `flybench run` prints: one line for each method, intervals in brackets."""

from __future__ import annotations

from collections.abc import Sequence

from flybench.metrics.method_summary import MethodSummary
from flybench.text import NONE, aligned

COLUMNS = {
    "model": "model",
    "task": "task",
    "method": "method",
    "n": "n",
    "accuracy": "accuracy",
    "retention": "retention",
    "both/lost/won/no": "pairs",
    "verdict": "retention_verdict",
    "win/tie/loss": "pairwise",
    "win rate": "win_rate",
    "speed-up (tokens/s)": "speedup_throughput",
    "speed-up (to answer)": "speedup_latency",
    "tokens/s": "tokens_per_second",
    "tau": "tau_pooled",
    "loose ‰": "loose_per_1000",
    "length": "length_ratio",
    "cut": "truncation_rate",
    "loops": "repetition_rate",
}
ABOVE = ("model", "task")


def headline(rows: Sequence[MethodSummary]) -> str:
    """Return rows of a summary as aligned text; `—` for missing values.

    A model or task that is equal in every row is the title, and empty columns are omitted. If a
    model judged, a line for each method has the cost and the number of unparseable verdicts.
    """
    alike = [name for name in ABOVE if len({row[name] for row in rows}) == 1]
    columns = {label: [_cell(row, name) for row in rows] for label, name in COLUMNS.items()}
    shown = {
        label: cells for label, cells in columns.items() if label not in alike and {*cells} - {NONE}
    }
    title = ", ".join(str(rows[0][name]) for name in alike)
    table = aligned([list(shown), *zip(*shown.values(), strict=True)], left=len(shown))
    judging = [_judging(row) for row in rows if row.judge]
    return "\n".join([*([title] if title else []), table, *judging])


def _judging(row: MethodSummary) -> str:
    known = {
        "calls": row.judge_asked,
        "unparseable": row.judge_unparseable,
        "failed": row.judge_failed,
        "order-dependent": row.judge_inconsistent,
        "prompt tokens": row.judge_tokens_in,
        "completion tokens": row.judge_tokens_out,
        "cost": row.judge_cost,
    }
    shown = (f"{what} {value:.6g}" for what, value in known.items() if value is not None)
    return f"{row.method} judged by {row.judge}: {', '.join(shown)}"


def _cell(row: MethodSummary, name: str) -> str:
    value, ends = row[name], getattr(row, f"{name}_ci", None)
    if name in row.too_few:
        return f"too few (n={row.too_few[name]})"
    if value is None:
        return NONE
    if name == "n" and row.n_scored != value:
        return f"{value} ({row.n_scored} scored)"
    if name in ("pairs", "pairwise"):
        return "/".join(map(str, value))
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    if name == "accuracy" and row.n_right is not None:
        text = f"{row.n_right:.4g}/{row.n_scored} = {text}"
    return f"{text} {ends.brief()}" if ends else text
