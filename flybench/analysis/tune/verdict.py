"""Which setting to use, and what the data could not tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flybench.analysis.tune.confirm import Finding
from flybench.analysis.tune.settings import told
from flybench.config import MethodConfig
from flybench.config.checks import MANY
from flybench.metrics.stats import (
    POWER,
    Interval,
    retention_verdict,
    samples_apart,
    samples_needed,
)
from flybench.text import interval, number, percent


class Verdict(NamedTuple):
    """The `method` to use, None for AR; `resolved` unless another may be better still."""

    method: MethodConfig | None
    resolved: bool
    sentences: list[str]


def verdict(findings: Sequence[Finding], margin: float) -> Verdict:
    """From the findings of the exact setting, which is the first, and of loose ones."""
    exact, *loose = findings
    confirmed = [each for each in loose if each.state == "confirmed"]
    doubtful = [each for each in loose if each.state == "not resolved"]
    notes = [_told(each, margin) for each in loose if each.state != "not resolved"]
    notes += [_not_resolved(each, margin) for each in doubtful]
    if confirmed:
        best = max(confirmed, key=lambda each: each.gain or 0)
        # One that cannot be faster than the best may stay in doubt.
        rivals = [each for each in doubtful if not _slower(each, best.gain or 0)]
        first = f"Recommended: {told(best.method)}, {_fast(best)}; {_gain(best)}, and it keeps the "
        return Verdict(best.method, not rivals, [f"{first}accuracy.", *notes])
    method, first = _fallback(exact, bool(loose))
    loss = retention_verdict(exact.retention_ends, margin) == "lost"
    warning = [f"{told(exact.method)} should lose nothing, and {_kept(exact)}."] if loss else []
    return Verdict(method, exact.certain and not doubtful, [first, *warning, *notes])


def _fallback(exact: Finding, compared: bool) -> tuple[MethodConfig | None, str]:
    """The exact setting if it is faster than AR, AR if not."""
    why = "no loose setting was confirmed" if compared else "no loose setting promised more"
    if not exact.n:
        return None, "Recommended: ar, since no sample was finished."
    if not exact.certain:
        needed = _apart(exact.n, exact.speedup, exact.speedup_ends, 1, exact.level)
        why += f"; whether it is faster than AR is not resolved, {_samples(needed)}"
    if (exact.speedup or 0) > 1:
        return exact.method, f"Recommended: {told(exact.method)}, {_fast(exact)}; {why}."
    return None, f"Recommended: ar; {told(exact.method)} is {_fast(exact)}; {why}."


def _told(finding: Finding, margin: float) -> str:
    """Why a loose setting was, or was not, confirmed."""
    name, counted = told(finding.method), f"n={finding.n}"
    if finding.state == "loses accuracy":
        return f"{name} loses more than {margin:.1%} of the accuracy: {_kept(finding)}, {counted}."
    if finding.state == "not faster":
        return f"{name} is not faster: {_fast(finding)}, {_gain(finding)}, {counted}."
    return f"{name} is confirmed: {_fast(finding)}, {_gain(finding)}, {_kept(finding)}, {counted}."


def _not_resolved(finding: Finding, margin: float) -> str:
    """What a loose setting would take to be decided."""
    name = told(finding.method)
    if not finding.n:
        return f"{name}: not resolved, since no sample was finished."
    if not finding.judged:
        return f"{name}: not resolved, since nothing says which answers are right."
    if finding.retention_ends is None:
        return (
            f"{name}: not resolved, since AR solved {finding.solved:g} of {finding.judged}, too "
            "few to say what is kept: use more samples, or a task that the target can solve."
        )
    if finding.failed and not _open(finding, margin):
        return f"{name}: not resolved, since {finding.failed} samples failed: run them again."
    needed = max(_open(finding, margin), default=MANY)
    facts = ", ".join((_kept(finding), _fast(finding), _gain(finding), f"n={finding.n}"))
    return f"{name}: not resolved, {_samples(needed)}; {facts}."


def _open(finding: Finding, margin: float) -> list[int]:
    """Samples that would decide each of its open questions."""
    found, bar, level = [], 1 - margin, finding.level
    kept, ends = finding.retention, finding.retention_ends
    if ends is None or ends.low < bar:
        if finding.pairs is not None and (kept or 0) >= bar:
            # Only judged pairs count there, and not every sample is one.
            judged = samples_needed(finding.pairs, margin, POWER, level)
            found.append(min(MANY, round(judged * finding.n / max(finding.judged, 1))))
        else:
            found.append(_apart(finding.n, kept, ends, bar, level))
    for point, ends in (
        (finding.speedup, finding.speedup_ends),
        (finding.gain, finding.gain_ends),
    ):
        if ends is None or ends.low <= 1:
            found.append(_apart(finding.n, point, ends, 1, level))
    return found


def _apart(n: int, point: float | None, ends: Interval | None, bar: float, level: float) -> int:
    return (
        MANY if point is None or ends is None else samples_apart(n, point, ends, bar, POWER, level)
    )


def _samples(needed: int) -> str:
    return f"needs n ≥ {needed:,}" if needed < MANY else "and no n can be named that would do"


def _slower(finding: Finding, gain: float) -> bool:
    return finding.gain_ends is not None and finding.gain_ends.high < gain


def _fast(finding: Finding) -> str:
    return f"{_times(finding.speedup, finding.speedup_ends)} as fast as AR"


def _gain(finding: Finding) -> str:
    return f"{_times(finding.gain, finding.gain_ends)} as fast as the exact setting"


def _kept(finding: Finding) -> str:
    return (
        f"retention {percent(finding.retention)} {interval(finding.retention_ends, 1, 100)}".strip()
    )


def _times(point: float | None, ends: Interval | None) -> str:
    return " ".join(filter(None, (number(point), interval(ends), "times")))
