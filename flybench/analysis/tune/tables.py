"""Tables of a tuning as text: replays and real runs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd

from flybench.analysis.tune.confirm import CandidateResult
from flybench.analysis.tune.search import SearchResult
from flybench.analysis.tune.search_space import describe_method
from flybench.text import NONE, aligned, number, percent


def projected(table: pd.DataFrame) -> str:
    """Return the Pareto front of the replayed grid as text, the fastest first."""
    lines = [["method", "rule", "theta", "window", "k", "tau", "speed-up", "loose ‰", "risk"]]
    lines[0] += ["opening"]
    for row in table[table["front"]].sort_values("speedup", ascending=False).to_dict("records"):
        figures = [number(row[name]) for name in ("tau", "speedup")]
        figures += [number(row[name], 1) for name in ("loose_per_1000", "risk")]
        lines.append([*_setting(row), *figures, percent(row["opening"])])
    return aligned(lines, left=2)


def confirmed(found: SearchResult, results: Sequence[CandidateResult]) -> str:
    """Return the real runs as text, the exact method first."""
    lines = [["method", "n", "failed", "speed-up", "projected", "over exact", "length"]]
    lines[0] += ["retention", "both/lost/won/no", "result"]
    for each in results:
        pairs = NONE if each.pairs is None else "/".join(map(str, each.pairs))
        projected_ = number(found.row(each.method)["speedup"])
        figures = [each.speedup.text(), projected_, each.gain.text()]
        figures += [number(each.length_ratio), each.retention.text("%"), pairs, each.state]
        lines.append([describe_method(each.method), str(each.n), str(each.failed), *figures])
    return aligned(lines)


def _setting(row: dict[Hashable, Any]) -> list[str]:
    loose = row["kind"] == "fly"
    rule = [row["rule"], f"{row['theta']:g}", str(row["window"])] if loose else ["exact", "", ""]
    return [row["method"], *rule, str(row["k"])]
