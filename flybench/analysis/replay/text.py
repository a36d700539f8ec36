"""Implementation of `flybench replay`: tables of a grid, or of replays against real runs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flybench.analysis.replay.against import against, common_samples
from flybench.analysis.replay.cells import grid
from flybench.analysis.replay.grid import recorded_config, replay
from flybench.analysis.replay.speedups import ProjectedSpeedups
from flybench.records.folder import RunFolder
from flybench.text import aligned, interval, number, percent


def replay_runs(
    folders: Sequence[RunFolder],
    swept: Sequence[str],
    costs: Path | None,
    others: Sequence[RunFolder],
) -> pd.DataFrame:
    """Print and return the table of a grid, or of replays against the real runs `others`.

    `swept` are settings such as `method.k=5,10`. `costs` is a `latency.json` for projected
    speed-ups.
    """
    cells, left_out = grid(recorded_config(folders[0]).method, swept)
    samples = common_samples(folders)
    if others:
        table = against(folders, others, cells if swept else None)
        print(errors(table))
    else:
        columns = [] if costs is None else [ProjectedSpeedups(folders[0], costs)]
        table = replay(folders, cells, samples, columns)
        print(estimates(table, left_out))
    return table


def estimates(table: pd.DataFrame, left_out: int) -> str:
    """Return the replays of a grid as text, with a note on what they estimate."""
    priced = "speedup" in table
    titles = ["rule", "k", "tau (estimate)", "loose ‰", "gate", "window ends"]
    titles += ["tail", "imputed", "diverged", *(["speed-up (projection)"] if priced else [])]
    lines = [titles]
    for row in table.to_dict("records"):
        line = [*_setting(row), number(row["tau"]), number(row["loose_per_1000"], 1)]
        line += [str(row[f"fate_{name}"]) for name in ("gate", "window", "tail")]
        line += [percent(row["guessed"]), percent(row["strayed"])]
        if priced:
            ends = interval((row["speedup_low"], row["speedup_high"]))
            line.append(f"{number(row['speedup'])} {ends}")
        lines.append(line)
    parts = [
        aligned(lines),
        "Estimates from recorded drafts, not measurements: `imputed` is the share of tokens that "
        "are not in the traces, `diverged` the share of rounds that leave the recorded text.",
    ]
    if left_out:
        parts.append(f"{left_out} combinations were skipped: their window does not fit in k.")
    return "\n".join(parts)


def errors(table: pd.DataFrame) -> str:
    """Return replays and real runs as text, with the median error."""
    lines = [["run", "rule", "k", "n", "tau (replay)", "tau (real)", "error"]]
    for row in table.to_dict("records"):
        taus = number(row["tau"]), number(row["tau_real"])
        error = f"{100 * row['error']:+.1f} %"
        lines.append([row["run"], *_setting(row), str(row["n"]), *taus, error])
    median = 100 * table["error"].abs().median()
    return f"{aligned(lines)}\nMedian error over {len(table)} runs: {median:.1f} %"


def _setting(row: dict[Hashable, Any]) -> list[str]:
    return [str(row["setting"]), str(row["k"])]
