"""Two lines on one task: what to use, and what the other methods would cost or have yet to show.

A method is safe if the data show that accuracy is kept, or if all of its answers are AR's own,
token for token; then no interval is needed. Methods of few samples settle nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flybench.metrics.suppression import FEWEST_SETTLING
from flybench.report.findings.badge import OPEN, count
from flybench.report.group import Group
from flybench.report.run import Arm
from flybench.text import percent


class Conclusion(NamedTuple):
    """What a group's data advise: `kind` (good, bad or open) colours the first line."""

    key: str
    title: str
    kind: str
    first: str
    second: str


def conclusion(group: Group) -> Conclusion:
    """What a reader who has ten seconds should take away."""
    paired = list(filter(_paired, group.compared))
    arms = [arm for arm in paired if _paired(arm) >= FEWEST_SETTLING]
    faster = [arm for arm in arms if _faster(arm)]
    best = max(filter(_safe, faster), key=_speed, default=None)
    kind = "good" if best else "bad" if arms and all(map(_refuted, arms)) else "open"
    if best:
        name = group.names[best]
        first = f"Use {name}: it answers {_times(best)} as fast as AR, and {_why(best)}."
    elif paired and not arms:
        n = max(map(_paired, paired))
        first = f"Nothing is settled yet: {count(n, 'paired sample')} are too few."
    else:
        first = _none(arms, faster)
    if failed := _failed(group):
        first = f"{failed} {first}"
    others = " ".join(_others(group, [arm for arm in arms if arm is not best], best))
    return Conclusion(group.key, group.title, kind, first, others)


def _failed(group: Group) -> str:
    """Name the samples that failed, which no row counts; empty if none did."""
    lost = [
        f"{count(arm.row.n_error, 'sample')} under {group.names[arm]}"
        for arm in group.arms
        if arm.row.n_error
    ]
    return f"Failed, and left out for every method: {', '.join(lost)}." if lost else ""


def _none(arms: Sequence[Arm], faster: Sequence[Arm]) -> str:
    if not arms:
        return "There is no method to compare with AR."
    if not faster:
        return "No method is shown to answer faster than AR."
    return "No method is shown to be both faster to answer than AR and as accurate."


def _others(group: Group, arms: Sequence[Arm], best: Arm | None) -> Iterator[str]:
    """The faster ones with the price of each, and the names of the rest."""
    floor = _speed(best) if best else 0
    ahead = sorted((arm for arm in arms if _speed(arm) > floor), key=_speed, reverse=True)
    ahead = [arm for arm in ahead if best or _faster(arm)][:3]
    told = [f"{group.names[arm]} {_times(arm)}, {_price(arm)}" for arm in ahead]
    if told:
        yield f"{'Faster, at a price' if best else 'Fastest'}: {'; '.join(told)}."
    slow = [group.names[arm] for arm in arms if not _faster(arm)]
    if slow:
        yield f"Not shown to be faster than AR: {', '.join(slow[:6])}{' …' * (len(slow) > 6)}."
    few = [group.names[arm] for arm in group.compared if 0 < _paired(arm) < FEWEST_SETTLING]
    if few:
        yield f"Too few samples to count here: {', '.join(few[:6])}{' …' * (len(few) > 6)}."
    if best and not told:
        yield "No other method measured here answers faster."


def _paired(arm: Arm) -> int:
    return arm.row.n_paired or 0


def _speed(arm: Arm) -> float:
    return arm.row.given("speedup_latency")


def _faster(arm: Arm) -> bool:
    return arm.row.estimate("speedup_latency").side(1) == "above"


def _refuted(arm: Arm) -> bool:
    slower = arm.row.estimate("speedup_latency").side(1) == "below"
    return arm.row.retention_verdict == "lost" or slower


def _safe(arm: Arm) -> bool:
    same = arm.row.exact_match_rate == 1 and not arm.row.n_error
    return arm.row.retention_verdict == "kept" or same


def _why(arm: Arm) -> str:
    if arm.row.exact_match_rate == 1:
        return f"all {_paired(arm):,} answers are AR's own, token for token"
    return f"accuracy is kept, {_retention(arm)}"


def _price(arm: Arm) -> str:
    """What is known of the accuracy of a faster method."""
    if arm.row.retention is None:
        return f"accuracy not known, {percent(arm.row.exact_match_rate)} of answers equal AR's"
    verdict = arm.row.retention_verdict
    words = f"accuracy {OPEN}" if verdict == OPEN else f"accuracy is {verdict}"
    return f"{words}, {_retention(arm)}"


def _retention(arm: Arm) -> str:
    return f"retention {arm.row.estimate('retention').text('%')}"


def _times(arm: Arm) -> str:
    return arm.row.estimate("speedup_latency").text("×")
