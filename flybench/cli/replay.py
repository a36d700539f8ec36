"""`flybench replay RUN… method.verify.theta=0.1,0.3 … [latency=FILE] [--against RUN…]`."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flybench.analysis.replay.against import against, common_samples
from flybench.analysis.replay.grid import recorded_config, replay
from flybench.analysis.replay.prices import Prices
from flybench.analysis.replay.settings import grid
from flybench.cli.arguments import Parser
from flybench.core.errors import FlybenchError
from flybench.records.folder import RunFolder
from flybench.text import aligned, interval, number, percent

SETTING = re.compile(r"(latency|[a-z_]+\.[a-z_.]+)=")
COSTS = "latency="


def replay_command(arguments: Sequence[str]) -> int:
    """Print the table of a grid, or that of real runs beside their replays."""
    settings = [argument for argument in arguments if SETTING.match(argument)]
    parser = Parser("replay")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--against", nargs="+", type=Path)
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args([word for word in arguments if word not in settings])
    costs = [Path(word.removeprefix(COSTS)) for word in settings if word.startswith(COSTS)]
    swept = [word for word in settings if not word.startswith(COSTS)]
    folders = RunFolder.all_existing(asked.runs)
    cells, left_out = grid(recorded_config(folders[0]).method, swept)
    samples = common_samples(folders)
    if asked.csv is not None and not asked.csv.parent.is_dir():
        raise FlybenchError(f"--csv {asked.csv} has no folder: make {asked.csv.parent} first.")
    if asked.against:
        runs = RunFolder.all_existing(asked.against)
        table = against(folders, runs, cells if swept else None)
        print(errors(table))
    else:
        columns = [Prices(folders[0], path) for path in costs[-1:]]
        table = replay(folders, cells, samples, columns)
        print(estimates(table, left_out))
    if asked.csv:
        table.to_csv(asked.csv, index=False)
    return 0


def estimates(table: pd.DataFrame, left_out: int) -> str:
    """A grid's replays as text, with what they are."""
    priced = "speedup" in table
    titles = ["rule", "theta", "window", "k", "tau (estimate)", "loose ‰", "gate", "window ends"]
    titles += ["tail", "guessed", "strayed", *(["speed-up (projection)"] if priced else [])]
    lines = [titles]
    for row in table.to_dict("records"):
        line = [*_setting(row), number(row["tau"]), number(row["loose_per_1000"], 1)]
        line += [str(row[f"fate_{name}"]) for name in ("gate", "window", "tail")]
        line += [percent(row["guessed"]), percent(row["strayed"])]
        if priced:
            ends = interval((row["speedup_low"], row["speedup_high"]))
            line.append(f"{number(row['speedup'])} {ends}")
        lines.append(line)
    told = [
        aligned(lines),
        "Estimates from recorded drafts, no measurements: guessed is the share of the tokens that "
        "no trace holds, strayed that of rounds that would have left the recorded text.",
    ]
    if left_out:
        told.append(f"{left_out} combinations are left out: their window does not fit in k.")
    return "\n".join(told)


def errors(table: pd.DataFrame) -> str:
    """Replays beside real runs as text, with the median of their errors."""
    lines = [["run", "rule", "theta", "window", "k", "n", "tau (replay)", "tau (real)", "error"]]
    for row in table.to_dict("records"):
        taus = number(row["tau"]), number(row["tau_real"])
        error = f"{100 * row['error']:+.1f} %"
        lines.append([row["run"], *_setting(row), str(row["n"]), *taus, error])
    median = 100 * table["error"].abs().median()
    return f"{aligned(lines)}\nMedian error over {len(table)} runs: {median:.1f} %"


def _setting(row: dict[Hashable, Any]) -> list[str]:
    if row["kind"] == "exact":
        return ["exact", "", "", str(row["k"])]
    return [str(row["rule"]), f"{row['theta']:g}", str(row["window"]), str(row["k"])]
