"""Groups of cells that are decoded together, and the answers that are left to decode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flybench.core.errors import FlybenchError
from flybench.run.plan import Plan
from flybench.run.runner import pending


class AnswerCounts(NamedTuple):
    """Number of answers of a group that are on disk, and of those left to decode."""

    done: int
    remaining: int


def compatible(number: int, plans: Mapping[int, Plan]) -> list[int]:
    """Return the indices of the cells that can be decoded with cell `number`, which comes first."""
    found = [number]
    for other, plan in plans.items():
        group = [plans[each] for each in found]
        paths = {each.folder.path for each in group}
        if plan.folder.path not in paths and all(plan.compatible(each) for each in group):
            found.append(other)
    return found


def groups(plans: Mapping[int, Plan]) -> list[list[int]]:
    """Partition the cells into groups that are decoded together."""
    left, found = dict(plans), []
    while left:
        found.append(compatible(next(iter(left)), left))
        for number in found[-1]:
            del left[number]
    return found


def count_answers(plans: Mapping[int, Plan]) -> dict[int, AnswerCounts]:
    """Count the answers of each group, by the index of its first cell.

    A folder with unreadable records counts as empty; running its cell reports the error.
    """
    found = {}
    for group in groups(plans):
        own = [plans[number] for number in group]
        methods = {method for plan in own for method in plan.methods}
        try:
            remaining = sum(sample.answers for sample in pending(own))
        except FlybenchError:
            remaining = 0
        found[group[0]] = AnswerCounts(len(methods) * len(own[0].prompts) - remaining, remaining)
    return found
