"""The cards as samples ended: clocks, power, temperature, throttling, and the energy of a token."""

from __future__ import annotations

import pandas as pd

from flybench.metrics.glossary import GLOSSARY
from flybench.report.group import Group
from flybench.report.run import Arm
from flybench.report.tables.table import Column, Table, TableCell, cell
from flybench.text import NONE, number

READINGS = ("sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c")


def gpu_states(group: Group) -> Table | None:
    """One row a method, ranges over samples and cards; None if no card was read."""
    arms = [arm for arm in group.arms if len(arm.gpu_states)]
    columns = [
        Column("method", numeric=False),
        Column("cards"),
        *(Column.of(name) for name in READINGS),
        Column.of("energy_per_token_j"),
        Column.of("throttled_samples"),
        Column("held down by", numeric=False, title="NVML's reasons, with the samples of each"),
    ]
    rows = [
        [
            TableCell(group.names[arm]),
            TableCell(number(arm.gpu_states["index"].nunique(), 0)),
            *(TableCell(_range(arm.gpu_states, name)) for name in READINGS),
            cell(arm.row, "energy_per_token_j"),
            cell(arm.row, "throttled_samples"),
            TableCell(_reasons(arm)),
        ]
        for arm in arms
    ]
    caption = f"{group.title}: the cards as samples ended: lowest to highest over samples and cards"
    return Table(caption, columns, rows) if rows else None


def _range(states: pd.DataFrame, name: str) -> str:
    known = states[name].dropna()
    if not len(known):
        return NONE
    ends = (number(end, GLOSSARY[name].digits) for end in (known.min(), known.max()))
    return " – ".join(dict.fromkeys(ends))


def _reasons(arm: Arm) -> str:
    known = arm.gpu_states[["sample_id", "throttle"]].dropna().explode("throttle").dropna()
    counts = known.drop_duplicates()["throttle"].value_counts()
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or NONE
