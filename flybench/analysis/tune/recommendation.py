"""Which setting to use, and what the data could not tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flybench.analysis.tune.confirm import CandidateResult
from flybench.analysis.tune.settings import told
from flybench.config import MethodConfig
from flybench.config.checks import MANY
from flybench.metrics.stats import samples_needed
from flybench.metrics.suppression import POWER


class Recommendation(NamedTuple):
    """The `method` to use, None for AR; `resolved` unless another may be better still."""

    method: MethodConfig | None
    resolved: bool
    sentences: list[str]


def recommend(results: Sequence[CandidateResult], margin: float) -> Recommendation:
    """From the results of the exact setting, which is the first, and of loose ones."""
    exact, *loose = results
    confirmed = [each for each in loose if each.state == "confirmed"]
    doubtful = [each for each in loose if each.state == "not resolved"]
    notes = [_told(each, margin) for each in loose if each.state != "not resolved"]
    notes += [_not_resolved(each, margin) for each in doubtful]
    if confirmed:
        best = max(confirmed, key=_gain_of)
        # One that cannot be faster than the best may stay in doubt.
        rivals = [each for each in doubtful if each.gain.side(_gain_of(best)) != "below"]
        first = f"Recommended: {told(best.method)}, {_fast(best)}; {_gain(best)}, and it keeps the "
        return Recommendation(best.method, not rivals, [f"{first}accuracy.", *notes])
    method, first = _fallback(exact, bool(loose))
    loss = exact.retention.verdict(margin) == "lost"
    warning = [f"{told(exact.method)} should lose nothing, and {_kept(exact)}."] if loss else []
    return Recommendation(method, exact.certain and not doubtful, [first, *warning, *notes])


def _fallback(exact: CandidateResult, compared: bool) -> tuple[MethodConfig | None, str]:
    """The exact setting if it is faster than AR, AR if not."""
    why = "no loose setting was confirmed" if compared else "no loose setting promised more"
    if not exact.n:
        return None, "Recommended: ar, since no sample was finished."
    if not exact.certain:
        needed = exact.speedup.needed(1)
        why += f"; whether it is faster than AR is not resolved, {_samples(needed)}"
    if (exact.speedup.point or 0) > 1:
        return exact.method, f"Recommended: {told(exact.method)}, {_fast(exact)}; {why}."
    return None, f"Recommended: ar; {told(exact.method)} is {_fast(exact)}; {why}."


def _told(result: CandidateResult, margin: float) -> str:
    """Why a loose setting was, or was not, confirmed."""
    name, counted = told(result.method), f"n={result.n}"
    if result.state == "loses accuracy":
        return f"{name} loses more than {margin:.1%} of the accuracy: {_kept(result)}, {counted}."
    if result.state == "not faster":
        return f"{name} is not faster: {_fast(result)}, {_gain(result)}, {counted}."
    return f"{name} is confirmed: {_fast(result)}, {_gain(result)}, {_kept(result)}, {counted}."


def _not_resolved(result: CandidateResult, margin: float) -> str:
    """What a loose setting would take to be decided."""
    name = told(result.method)
    if not result.n:
        return f"{name}: not resolved, since no sample was finished."
    if not result.judged:
        return f"{name}: not resolved, since nothing says which answers are right."
    if result.retention.interval is None:
        return (
            f"{name}: not resolved, since AR solved {result.solved:g} of {result.judged}, too "
            "few to say what is kept: use more samples, or a task that the target can solve."
        )
    if result.failed and not _open(result, margin):
        return f"{name}: not resolved, since {result.failed} samples failed: run them again."
    needed = max(_open(result, margin), default=MANY)
    facts = ", ".join((_kept(result), _fast(result), _gain(result), f"n={result.n}"))
    return f"{name}: not resolved, {_samples(needed)}; {facts}."


def _open(result: CandidateResult, margin: float) -> list[int]:
    """Samples that would decide each of its open questions."""
    found, bar, kept = [], 1 - margin, result.retention
    if kept.side(bar) != "above":
        if result.pairs is not None and (kept.point or 0) >= bar:
            # Only judged pairs count there, and not every sample is one.
            judged = samples_needed(result.pairs, margin, POWER, result.level)
            found.append(min(MANY, round(judged * result.n / max(result.judged, 1))))
        else:
            found.append(kept._replace(n=result.n).needed(bar))
    speeds = (result.speedup, result.gain)
    return found + [speed.needed(1) for speed in speeds if speed.side(1) != "above"]


def _samples(needed: int) -> str:
    return f"needs n ≥ {needed:,}" if needed < MANY else "and no n can be named that would do"


def _gain_of(result: CandidateResult) -> float:
    return result.gain.point or 0


def _fast(result: CandidateResult) -> str:
    return f"{result.speedup.text()} times as fast as AR"


def _gain(result: CandidateResult) -> str:
    return f"{result.gain.text()} times as fast as the exact setting"


def _kept(result: CandidateResult) -> str:
    return f"retention {result.retention.text('%')}"
