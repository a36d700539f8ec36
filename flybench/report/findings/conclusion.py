"""Conclusion on one task in two lines: the recommended method, and the trade-offs of the others.

A method is safe if its accuracy is shown to be kept, or if all of its answers equal AR's token for
token. Methods with too few samples are not considered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flybench.metrics.suppression import MIN_VERDICT_SAMPLES
from flybench.report.findings.badge import OPEN, count
from flybench.report.group import Group
from flybench.report.run import Arm
from flybench.text import percent


class Conclusion(NamedTuple):
    """Recommendation for a group; `kind` (good, bad or open) is the colour of the first line."""

    key: str
    title: str
    kind: str
    first: str
    second: str


def conclusion(group: Group) -> Conclusion:
    """Return the recommendation for the group's task and model."""
    paired = list(filter(_paired, group.compared))
    arms = [arm for arm in paired if _paired(arm) >= MIN_VERDICT_SAMPLES]
    faster = [arm for arm in arms if _faster(arm)]
    best = max(filter(_safe, faster), key=_speed, default=None)
    kind = "good" if best else "bad" if arms and all(map(_refuted, arms)) else "open"
    if best:
        name = group.names[best]
        first = f"Use {name}: its speed-up over AR is {_times(best)}, and {_reason(best)}."
    elif paired and not arms:
        n = max(map(_paired, paired))
        are = "is" if n == 1 else "are"
        first = f"No conclusion: {count(n, 'paired sample')} {are} too few."
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
    return f"Failed and excluded for every method: {', '.join(lost)}." if lost else ""


def _none(arms: Sequence[Arm], faster: Sequence[Arm]) -> str:
    if not arms:
        return "There is no method to compare with AR."
    if not faster:
        return "No method is shown to answer faster than AR."
    return "No method is shown to answer faster than AR and to be as accurate."


def _others(group: Group, arms: Sequence[Arm], best: Arm | None) -> Iterator[str]:
    """Yield sentences on faster methods with their accuracy, and on the remaining methods."""
    floor = _speed(best) if best else 0
    faster = sorted((arm for arm in arms if _speed(arm) > floor), key=_speed, reverse=True)
    faster = [arm for arm in faster if best or _faster(arm)][:3]
    listed = [f"{group.names[arm]} {_times(arm)}, {_accuracy(arm)}" for arm in faster]
    if listed:
        yield f"{'Faster, but not shown safe' if best else 'Fastest'}: {'; '.join(listed)}."
    slow = [group.names[arm] for arm in arms if not _faster(arm)]
    if slow:
        yield f"Not shown to be faster than AR: {', '.join(slow[:6])}{' …' * (len(slow) > 6)}."
    small = [group.names[arm] for arm in group.compared if 0 < _paired(arm) < MIN_VERDICT_SAMPLES]
    if small:
        yield f"Too few samples for a conclusion: {', '.join(small[:6])}{' …' * (len(small) > 6)}."
    if best and not listed:
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


def _reason(arm: Arm) -> str:
    if arm.row.exact_match_rate == 1:
        return f"all {_paired(arm):,} answers equal AR's, token for token"
    return f"accuracy is retained, {_retention(arm)}"


def _accuracy(arm: Arm) -> str:
    """Summarise the accuracy of a faster method."""
    if arm.row.retention is None:
        return f"accuracy unknown, {percent(arm.row.exact_match_rate)} of answers equal AR's"
    verdict = arm.row.retention_verdict
    text = f"accuracy {OPEN}" if verdict == OPEN else f"accuracy is {verdict}"
    return f"{text}, {_retention(arm)}"


def _retention(arm: Arm) -> str:
    return f"retention {arm.row.estimate('retention').text('%')}"


def _times(arm: Arm) -> str:
    return arm.row.estimate("speedup_latency").text("×")
