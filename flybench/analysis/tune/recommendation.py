"""Recommendation of a setting, with sentences about the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flybench.analysis.tune.confirm import CandidateResult
from flybench.analysis.tune.search_space import describe_method
from flybench.config import MethodConfig
from flybench.config.checks import MAX_COUNT
from flybench.metrics.stats import samples_needed
from flybench.metrics.suppression import POWER


class Recommendation(NamedTuple):
    """The `method` to use, None for AR; `resolved` if no other setting may be better."""

    method: MethodConfig | None
    resolved: bool
    sentences: list[str]


def recommend(results: Sequence[CandidateResult], margin: float) -> Recommendation:
    """Recommend a setting from results, of which the exact setting's is the first."""
    exact, *loose = results
    confirmed = [each for each in loose if each.state == "confirmed"]
    unresolved = [each for each in loose if each.state == "not resolved"]
    notes = [_decided(each, margin) for each in loose if each.state != "not resolved"]
    notes += [_not_resolved(each, margin) for each in unresolved]
    if confirmed:
        best = max(confirmed, key=_gain_of)
        # A setting that is not faster than the best one need not be resolved.
        rivals = [each for each in unresolved if each.gain.side(_gain_of(best)) != "below"]
        first = (
            f"Recommended: {describe_method(best.method)}, {_fast(best)} and {_gain(best)}; it "
            "preserves accuracy."
        )
        return Recommendation(best.method, not rivals, [first, *notes])
    method, first = _fallback(exact, bool(loose))
    loss = exact.retention.verdict(margin) == "lost"
    warning = (
        [f"{describe_method(exact.method)} should lose no accuracy, but its {_kept(exact)}."]
        if loss
        else []
    )
    return Recommendation(method, exact.certain and not unresolved, [first, *warning, *notes])


def _fallback(exact: CandidateResult, compared: bool) -> tuple[MethodConfig | None, str]:
    """Return the exact setting if it is faster than AR, or else AR."""
    reason = (
        "no loose setting was confirmed"
        if compared
        else "no loose setting is projected to be faster"
    )
    if not exact.n:
        return None, "Recommended: ar, because no sample was finished."
    if not exact.certain:
        needed = exact.speedup.needed(1)
        reason += f"; whether it is faster than AR is not resolved, {_samples(needed)}"
    if (exact.speedup.point or 0) > 1:
        return (
            exact.method,
            f"Recommended: {describe_method(exact.method)}, {_fast(exact)}; {reason}.",
        )
    return None, f"Recommended: ar; {describe_method(exact.method)} is {_fast(exact)}; {reason}."


def _decided(result: CandidateResult, margin: float) -> str:
    """Return a sentence on a loose setting that was confirmed or rejected."""
    name, counted = describe_method(result.method), f"n={result.n}"
    if result.state == "loses accuracy":
        return f"{name} loses more than {margin:.1%} of the accuracy: {_kept(result)}, {counted}."
    if result.state == "not faster":
        return f"{name} is not faster: {_fast(result)}, {_gain(result)}, {counted}."
    return f"{name} is confirmed: {_fast(result)}, {_gain(result)}, {_kept(result)}, {counted}."


def _not_resolved(result: CandidateResult, margin: float) -> str:
    """Return a sentence on the number of samples that a loose setting needs."""
    name = describe_method(result.method)
    if not result.n:
        return f"{name}: not resolved, because no sample was finished."
    if not result.judged:
        return f"{name}: not resolved, because no answer was scored."
    if result.retention.interval is None:
        return (
            f"{name}: not resolved, because AR solved {result.solved:g} of {result.judged}, too "
            "few to estimate retention: use more samples, or a task that the target can solve."
        )
    if result.failed and not _open(result, margin):
        return f"{name}: not resolved, because {result.failed} samples failed: run them again."
    needed = max(_open(result, margin), default=MAX_COUNT)
    facts = ", ".join((_kept(result), _fast(result), _gain(result), f"n={result.n}"))
    return f"{name}: not resolved, {_samples(needed)}; {facts}."


def _open(result: CandidateResult, margin: float) -> list[int]:
    """Return the number of samples that each unresolved figure needs."""
    found, bar, kept = [], 1 - margin, result.retention
    if kept.side(bar) != "above":
        if result.pairs is not None and (kept.point or 0) >= bar:
            # Only scored pairs count here, and not every sample is scored.
            judged = samples_needed(result.pairs, margin, POWER, result.level)
            found.append(min(MAX_COUNT, round(judged * result.n / max(result.judged, 1))))
        else:
            found.append(kept._replace(n=result.n).needed(bar))
    speeds = (result.speedup, result.gain)
    return found + [speed.needed(1) for speed in speeds if speed.side(1) != "above"]


def _samples(needed: int) -> str:
    return f"needs n ≥ {needed:,}" if needed < MAX_COUNT else f"needs over {MAX_COUNT:,} samples"


def _gain_of(result: CandidateResult) -> float:
    return result.gain.point or 0


def _fast(result: CandidateResult) -> str:
    return f"{result.speedup.text()} times as fast as AR"


def _gain(result: CandidateResult) -> str:
    return f"{result.gain.text()} times as fast as the exact setting"


def _kept(result: CandidateResult) -> str:
    return f"retention {result.retention.text('%')}"
