"""GPU states at the end of samples: clocks, power, temperature, throttling, energy per token."""

from __future__ import annotations

import pandas as pd

from flybench.metrics.glossary import GLOSSARY
from flybench.report.group import Group
from flybench.report.run import Arm
from flybench.report.tables.table import Column, Table, TableCell, cell
from flybench.text import NONE, number

READINGS = ("sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c")


def gpu_states(group: Group) -> Table | None:
    """Return ranges over samples and GPUs, one row per method; None without GPU readings."""
    arms = [arm for arm in group.arms if len(arm.gpu_states)]
    columns = [
        Column("method", numeric=False),
        Column("GPUs"),
        *(Column.of(name) for name in READINGS),
        Column.of("energy_per_token_j"),
        Column.of("throttled_samples"),
        Column("throttled by", numeric=False, title="NVML reasons, with sample counts"),
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
    caption = f"{group.title}: GPU states at the end of samples, minimum to maximum"
    return Table(caption, columns, rows) if rows else None


def _range(states: pd.DataFrame, name: str) -> str:
    values = states[name].dropna()
    if not len(values):
        return NONE
    ends = (number(end, GLOSSARY[name].digits) for end in (values.min(), values.max()))
    return " – ".join(dict.fromkeys(ends))


def _reasons(arm: Arm) -> str:
    reasons = arm.gpu_states[["sample_id", "throttle"]].dropna().explode("throttle").dropna()
    counts = reasons.drop_duplicates()["throttle"].value_counts()
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or NONE
