"""Which setting to use, and what the data could not tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flybench.checks import MANY
from flybench.config import MethodConfig
from flybench.report.text import interval, number, percent
from flybench.stats import Interval, samples_apart, samples_needed
from flybench.tune.confirm import Finding
from flybench.tune.settings import told

POWER = 0.8


class Verdict(NamedTuple):
    """The `method` to use, None for AR; `resolved` unless a loose setting may be better still."""

    method: MethodConfig | None
    resolved: bool
    sentences: list[str]


def verdict(findings: Sequence[Finding], margin: float) -> Verdict:
    """From the findings of the exact setting, which is the first, and of loose ones."""
    exact, *loose = findings
    confirmed = [each for each in loose if each.state == "confirmed"]
    open_ = [each for each in loose if each.state == "not resolved"]
    sentences = [_told(each, margin) for each in loose if each.state != "not resolved"]
    sentences += [_not_resolved(each, margin) for each in open_]
    if confirmed:
        best = max(confirmed, key=lambda each: each.gain or 0)
        reason = f"it is {_times(best.gain, best.gain_ends)} as fast as the best exact setting"
        first = f"Recommended: {told(best.method)}; {reason} and keeps the accuracy."
        return Verdict(best.method, True, [first, *sentences])
    method, resolved, first = _fallback(exact, bool(loose))
    return Verdict(method, resolved and not open_, [first, *sentences])


def _fallback(exact: Finding, compared: bool) -> tuple[MethodConfig | None, bool, str]:
    """The exact setting if it is faster than AR, AR if not, and whether that is certain."""
    why = "no loose setting was confirmed" if compared else "no loose setting promised more"
    ends, fast = exact.speedup_ends, f"{_times(exact.speedup, exact.speedup_ends)} as fast as AR"
    needed = _speed_samples(exact.n, exact.speedup, ends, exact.level)
    certain = ends is not None and not ends.low <= 1 <= ends.high
    doubt = "" if certain else f"; whether it is faster is not resolved, needs n ≥ {needed:,}"
    if (exact.speedup or 0) > 1:
        first = f"Recommended: {told(exact.method)}, {fast}; {why}{doubt}."
        return exact.method, certain, first
    return None, certain, f"Recommended: ar; {told(exact.method)} is {fast}, and {why}{doubt}."


def _told(finding: Finding, margin: float) -> str:
    """Why a loose setting was, or was not, confirmed."""
    name = told(finding.method)
    kept = f"retention {percent(finding.retention)} {_ends(finding.retention_ends)}"
    gain = f"{_times(finding.gain, finding.gain_ends)} as fast as the exact setting"
    if finding.state == "loses accuracy":
        return f"{name} loses more than {margin:.1%} of the accuracy: {kept}, n={finding.n}."
    if finding.state == "not faster":
        return f"{name} is not faster: {gain}, n={finding.n}."
    return f"{name} is confirmed: {gain}, {kept}, n={finding.n}."


def _not_resolved(finding: Finding, margin: float) -> str:
    """What a loose setting would take to be decided."""
    name, ends, pairs = told(finding.method), finding.retention_ends, finding.pairs
    if ends is None and pairs is None:
        return f"{name}: not resolved, since nothing says which answers are right."
    if ends is None:
        solved = 0 if pairs is None else pairs.both + pairs.lost
        return (
            f"{name}: not resolved, and no n would do: AR solved {solved} of {finding.n}, which "
            "leaves no accuracy to keep; tune on a task that the target can solve."
        )
    needed = max(_quality_samples(finding, margin), _gain_samples(finding))
    kept = f"retention {percent(finding.retention)} {_ends(ends)}"
    gain = f"{_times(finding.gain, finding.gain_ends)} as fast as the exact setting"
    return f"{name}: not resolved, needs n ≥ {needed:,}; {kept}, {gain}, n={finding.n}."


def _quality_samples(finding: Finding, margin: float) -> int:
    """Samples that would tell whether the accuracy is kept; 0 where they do."""
    point, ends, bar = finding.retention, finding.retention_ends, 1 - margin
    if point is None or ends is None or ends.low >= bar:
        return 0
    if finding.pairs is not None and point >= bar:
        return samples_needed(finding.pairs, margin, POWER, finding.level)
    return samples_apart(finding.n, point, ends, bar, POWER, finding.level)


def _gain_samples(finding: Finding) -> int:
    """The same of its gain over the exact setting."""
    if finding.gain_ends is not None and finding.gain_ends.low > 1:
        return 0
    return _speed_samples(finding.n, finding.gain, finding.gain_ends, finding.level)


def _speed_samples(n: int, point: float | None, ends: Interval | None, level: float) -> int:
    return MANY if point is None or ends is None else samples_apart(n, point, ends, 1, POWER, level)


def _times(point: float | None, ends: tuple[float, float] | None) -> str:
    return f"{number(point)} {interval(ends)} times".replace("  ", " ")


def _ends(ends: tuple[float, float] | None) -> str:
    return interval(ends, 1, 100)
