"""Which cells of a sweep are decoded side by side, and how many answers that leaves to decode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flybench.core.errors import FlybenchError
from flybench.run.plan import Plan
from flybench.run.runner import pending


class Answers(NamedTuple):
    """Answers of a cell and of those beside it that are on disk, and that are not."""

    there: int
    ahead: int


def partners(number: int, plans: Mapping[int, Plan]) -> list[int]:
    """Cells that can be decoded together with this one, which comes first, by number."""
    found = [number]
    for other, plan in plans.items():
        together = [plans[each] for each in found]
        paths = {each.folder.path for each in together}
        if plan.folder.path not in paths and all(plan.beside(each) for each in together):
            found.append(other)
    return found


def groups(plans: Mapping[int, Plan]) -> list[list[int]]:
    """Every cell once, with those that its turn decodes too."""
    left, found = dict(plans), []
    while left:
        found.append(partners(next(iter(left)), left))
        for number in found[-1]:
            del left[number]
    return found


def count(plans: Mapping[int, Plan]) -> dict[int, Answers]:
    """The answers of each group, by the number of its first cell.

    A folder whose records cannot be read counts as none; its own turn tells why.
    """
    found = {}
    for group in groups(plans):
        own = [plans[number] for number in group]
        methods = {method for plan in own for method in plan.methods}
        try:
            ahead = sum(asked.answers for asked in pending(own))
        except FlybenchError:
            ahead = 0
        found[group[0]] = Answers(len(methods) * len(own[0].prompts) - ahead, ahead)
    return found
