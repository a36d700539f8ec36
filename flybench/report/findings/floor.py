"""AR beside its second turn: the noise floor that a method's differences must exceed.

Answers that differ and verdicts that flip are counted on the samples that AR finished twice and
the method once. A method has more of them than the floor if McNemar's exact test says so at 5 %; a
speed-up lies beyond the floor if the two intervals do not touch.
"""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from flybench.metrics.divergence import partings
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
WORDS = {True: "beyond the floor", False: "not beyond the floor", None: ""}


class Count(NamedTuple):
    """How many of `n` samples differ under AR again and under the method; `beyond` compares."""

    n: int
    floor: int
    own: int
    beyond: bool

    @classmethod
    def of(cls, again: pd.Series, method: pd.Series) -> Count:
        """From whether each sample differs, for the samples that both series know."""
        both = pd.concat([again, method], axis=1, join="inner").dropna().astype(bool).to_numpy()
        more, fewer = (int(((both == pair).all(1)).sum()) for pair in ([0, 1], [1, 0]))
        beyond = more > fewer and mcnemar(fewer, more) < SIGNIFICANCE
        return cls(len(both), int(both[:, 0].sum()), int(both[:, 1].sum()), beyond)


def table(group: Group) -> Table | None:
    """The floor of each run that has one, and its methods beneath; None without any."""
    columns = [
        Column("method", numeric=False),
        Column("differ from AR's", "answers", "Answers whose ids differ / those that all finished"),
        Column("flips", "answers", "Verdicts that differ from AR's, lost or won / judged in all"),
        *(Column.of(name) for name in SPEEDUPS),
    ]
    rows = [row for run in group.runs if run.repeat for row in _rows(run, run.repeat)]
    caption = f"{group.title}: AR beside itself, and methods beside that floor"
    return Table(caption, columns, rows) if rows else None


def note(run: Run, arm: Arm) -> str:
    """The floor, and what of the method's differences is beyond it; empty without a repeat."""
    if run.repeat is None:
        return ""
    arm = arm if arm in run.compared else run.repeat
    differ, flips = _divergence(run, run.repeat, arm), _flips(run, run.repeat, arm)
    floor = [f"{differ.floor} of {differ.n} answers differ"]
    floor += [f"{flips.floor} of {flips.n} verdicts flip"] if flips.n else []
    speed = run.repeat.row.estimate("speedup_throughput")
    floor += [f"the speed-up is {speed.text('×')}"] if speed.point else []
    text = f"AR beside itself is the noise floor: {', '.join(floor)}."
    if arm is run.repeat:
        return text
    found = {"divergence": differ.beyond if differ.n else None}
    found |= {"flips": flips.beyond if flips.n else None}
    found |= {words: _faster(run.repeat, arm, name) for name, words in SPEEDUPS.items()}
    sides = {
        side: ", ".join(what for what, beyond in found.items() if beyond is side) or "nothing"
        for side in (True, False)
    }
    return f"{text} Beyond it {arm.method} has: {sides[True]}. Not beyond it: {sides[False]}."


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
                one._replace(note=" ".join(filter(None, (one.note, WORDS[side]))))
                for one, side in zip(cells, beyond, strict=True)
            ]
        rows.append([TableCell(arm.name, "the floor" if floor else ""), *cells])
    return rows


def _divergence(run: Run, repeat: Arm, arm: Arm) -> Count:
    again, own = (partings(run.baseline, one.samples)["place"].notna() for one in (repeat, arm))
    return Count.of(again, own)


def _flips(run: Run, repeat: Arm, arm: Arm) -> Count:
    again, own = (run.pair(one).judged for one in (repeat, arm))
    return Count.of(*(one["correct"] != one["correct_ar"] for one in (again, own)))


def _faster(repeat: Arm, arm: Arm, name: str) -> bool | None:
    """Whether the arm's interval lies apart from the floor's; None if one of them has none."""
    own, floor = (each.row.estimate(name).interval for each in (arm, repeat))
    return None if own is None or floor is None else own.apart(floor)
