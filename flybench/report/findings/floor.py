"""Noise floor from a repeated AR run: the differences between two AR runs on the same samples.

Differing answers and flipped verdicts are counted on the samples that AR, its repeat and the method
all finished. A method exceeds the floor if McNemar's exact test is significant at 5 %. A speed-up
exceeds the floor if the two intervals are disjoint.
"""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from flybench.metrics.divergence import first_divergences
from flybench.metrics.stats import mcnemar
from flybench.metrics.suppression import SIGNIFICANCE
from flybench.report.group import Group
from flybench.report.run import Arm, Run
from flybench.report.tables.table import Column, Table, TableCell, cell
from flybench.text import NONE

SPEEDUPS = {
    "speedup_throughput": "speed-up in throughput",
    "speedup_latency": "speed-up in time to answer",
}
NOTES = {True: "above the floor", False: "within the floor", None: ""}


class Count(NamedTuple):
    """Samples out of `n` that differ from AR in its repeat (`floor`) and in the method (`own`).

    `beyond` is True if the method differs significantly more often.
    """

    n: int
    floor: int
    own: int
    beyond: bool

    @classmethod
    def of(cls, again: pd.Series, method: pd.Series) -> Count:
        """Count from two boolean series, on the samples present in both."""
        both = pd.concat([again, method], axis=1, join="inner").dropna().astype(bool).to_numpy()
        more, fewer = (int(((both == pair).all(1)).sum()) for pair in ([0, 1], [1, 0]))
        beyond = more > fewer and mcnemar(fewer, more) < SIGNIFICANCE
        return cls(len(both), int(both[:, 0].sum()), int(both[:, 1].sum()), beyond)


def table(group: Group) -> Table | None:
    """Return a table of each noise floor and its run's methods; None without a repeat of AR."""
    columns = [
        Column("method", numeric=False),
        Column("differ from AR", "answers", "Answers whose ids differ / answers that all finished"),
        Column("flips", "answers", "Verdicts that differ from AR's / answers judged for all"),
        *(Column.of(name) for name in SPEEDUPS),
    ]
    rows = [row for run in group.runs if run.repeat for row in _rows(run, run.repeat)]
    caption = f"{group.title}: noise floor (AR repeated) and methods relative to it"
    return Table(caption, columns, rows) if rows else None


def note(run: Run, arm: Arm) -> str:
    """Describe the noise floor and how the method compares; empty without a repeat of AR."""
    if run.repeat is None:
        return ""
    arm = arm if arm in run.compared else run.repeat
    differ, flips = _divergence(run, run.repeat, arm), _flips(run, run.repeat, arm)
    floor = [f"{differ.floor} of {differ.n} answers differ"]
    floor += [f"{flips.floor} of {flips.n} verdicts flip"] if flips.n else []
    speed = run.repeat.row.estimate("speedup_throughput")
    floor += [f"the speed-up is {speed.text('×')}"] if speed.point else []
    text = f"The noise floor, AR against its repeat: {', '.join(floor)}."
    if arm is run.repeat:
        return text
    exceeded = {"divergence": differ.beyond if differ.n else None}
    exceeded |= {"flips": flips.beyond if flips.n else None}
    exceeded |= {label: _faster(run.repeat, arm, name) for name, label in SPEEDUPS.items()}
    sides = {
        side: ", ".join(label for label, beyond in exceeded.items() if beyond is side) or "none"
        for side in (True, False)
    }
    return f"{text} {arm.method} exceeds it in: {sides[True]}; within it: {sides[False]}."


def _rows(run: Run, repeat: Arm) -> list[list[TableCell]]:
    rows = []
    for arm in [repeat, *run.compared]:
        floor = arm is repeat
        counts = (_divergence(run, repeat, arm), _flips(run, repeat, arm))
        cells = [TableCell(f"{count.own} of {count.n}" if count.n else NONE) for count in counts]
        beyond = [count.beyond if count.n else None for count in counts]
        cells += [cell(arm.row, name) for name in SPEEDUPS]
        beyond += [_faster(repeat, arm, name) for name in SPEEDUPS]
        if not floor:
            cells = [
                one._replace(note=" ".join(filter(None, (one.note, NOTES[side]))))
                for one, side in zip(cells, beyond, strict=True)
            ]
        rows.append([TableCell(arm.name, "the floor" if floor else ""), *cells])
    return rows


def _divergence(run: Run, repeat: Arm, arm: Arm) -> Count:
    again, own = (
        first_divergences(run.baseline, one.samples)["diverged_at"].notna() for one in (repeat, arm)
    )
    return Count.of(again, own)


def _flips(run: Run, repeat: Arm, arm: Arm) -> Count:
    again, own = (run.pair(one).judged for one in (repeat, arm))
    return Count.of(*(one["correct"] != one["correct_ar"] for one in (again, own)))


def _faster(repeat: Arm, arm: Arm, name: str) -> bool | None:
    """Return True if the intervals of arm and floor are disjoint; None if either is missing."""
    own, floor = (each.row.estimate(name).interval for each in (arm, repeat))
    return None if own is None or floor is None else own.disjoint(floor)
