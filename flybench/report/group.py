"""Groups of runs of one task and model, which share tables and figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flybench.config import BASELINES
from flybench.report.run import Arm, Run


@dataclass(frozen=True, eq=False)
class Group:
    """All runs of one task and model, in the order given; `key` names files and anchors."""

    key: str
    runs: list[Run]

    @property
    def title(self) -> str:
        return self.runs[0].title

    @property
    def pairs(self) -> list[tuple[Run, Arm]]:
        """Every arm that is compared with AR, with its run."""
        return [(run, arm) for run in self.runs for arm in run.compared]

    @property
    def compared(self) -> list[Arm]:
        return [arm for _, arm in self.pairs]

    @property
    def baselines(self) -> list[Arm]:
        """AR and its repeat; a baseline that several runs of a sweep share is listed once."""
        arms = (arm for run in self.runs for arm in run.arms if arm.method in BASELINES)
        measured = {(arm.method, *(arm.row[name] for name in MEASURED)): arm for arm in arms}
        return list(measured.values())

    @property
    def arms(self) -> list[Arm]:
        return [*self.baselines, *self.compared]

    @property
    def names(self) -> dict[Arm, str]:
        """Short names of the arms: the method if it is unique, else the full name."""
        methods = [arm.method for arm in self.arms]
        return {
            arm: arm.method if methods.count(arm.method) == 1 else arm.name for arm in self.arms
        }


MEASURED = ("n", "accuracy", "tokens_per_second")


def groups(runs: Sequence[Run]) -> list[Group]:
    """Group runs by task and model, in the order of the runs."""
    by_title: dict[str, list[Run]] = {}
    for run in runs:
        by_title.setdefault(run.title, []).append(run)
    keys = [re.sub("[^a-z0-9]+", "-", title.lower()).strip("-")[:40] for title in by_title]
    return [
        Group(key if keys.count(key) == 1 and key else f"{key or 'task'}-{number}", group)
        for number, (key, group) in enumerate(zip(keys, by_title.values(), strict=True), start=1)
    ]


def with_rounds(group: Group) -> Iterator[Arm]:
    """Yield the compared arms that drafted at least one token."""
    return (
        arm for arm in group.compared if len(arm.rounds) and arm.rounds["drafted"].to_numpy().any()
    )
