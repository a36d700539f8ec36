"""Verdict on speed, in throughput and in time to answer; longer answers can cancel the gain."""

from __future__ import annotations

from flybench.metrics.method_summary import MethodSummary
from flybench.metrics.paired import Estimate
from flybench.metrics.stats import ratio
from flybench.metrics.suppression import MIN_VERDICT_SAMPLES
from flybench.report.findings.badge import OPEN, TO_ANSWER, VerdictBadge, count
from flybench.report.run import Arm, Run
from flybench.text import number, percent


def speed(run: Run, arm: Arm) -> VerdictBadge:
    """Return the verdict on both speed-ups, with the lengths and endings of the answers."""
    row, name, n = arm.row, arm.method, arm.row.n_paired
    if not n:
        text = f"No sample was finished by both AR and {name}, so the speed-up is undefined."
        return VerdictBadge("open", "no baseline", text)
    if row.speedup_latency is None:
        text = f"Only one sample was finished by both AR and {name}; an interval needs two."
        return VerdictBadge("open", "speed not resolved, n too small", text)
    estimates = [row.estimate(f"speedup_{kind}") for kind in ("throughput", "latency")]
    throughput, latency = (estimate.in_words("×") for estimate in estimates)
    first, second = map(_direction, estimates)
    verb = "looks" if n < MIN_VERDICT_SAMPLES else "is"
    both = f"{throughput} in throughput and {latency} in time to answer"
    if first != second:
        text = (
            f"{_one_speed(name, verb, first, 'throughput')}: {throughput}. "
            f"{_one_speed(name, verb, second, 'time to answer')}: {latency}."
        )
    elif first == OPEN:
        text = f"Whether {name} is faster or slower than AR is not resolved: {both}."
    else:
        text = f"{name} {verb} {first} than AR: {both}, over {count(n, 'paired sample')}."
    if first == "faster" != second:
        text += f" Faster tokens do not make answers faster here{_longer(row)}."
    text += f" {_lengths(run, arm)}"
    if n < MIN_VERDICT_SAMPLES:
        text += f" n = {n} is too small for a conclusion about speed."
    elif OPEN in (first, second):
        text += f" An interval that contains 1× does not resolve the direction at n = {n}."
    return VerdictBadge.of(_badge(first, second), text, n)


def _badge(throughput: str, latency: str) -> str:
    if throughput == latency:
        return f"speed {OPEN}" if latency == OPEN else latency
    if throughput == "faster":
        return TO_ANSWER if latency == "slower" else "faster per token only"
    return "speed mixed"


def _longer(row: MethodSummary) -> str:
    """Length of the answers as the reason, if they are longer than AR's."""
    length = row.length_ratio or 0
    return f": the answers are {number(length)}× as long as AR's" if length > 1 else ""


def _lengths(run: Run, arm: Arm) -> str:
    """Answer lengths, truncation at the length limit and loops of the method and of AR."""
    pairs = run.pair(arm).table
    capped, capped_ar = (percent(pairs[name].mean()) for name in ("capped", "capped_ar"))
    loops, loops_ar = (
        percent(ratio(pairs[f"looped{end}"], pairs[f"tokens{end}"])) for end in ("", "_ar")
    )
    return (
        f"Its answers are {number(arm.row.length_ratio)}× as long as AR's in tokens; {capped} are "
        f"truncated at the limit (AR: {capped_ar}), and {loops} of their tokens are in loops "
        f"(AR: {loops_ar})."
    )


def _one_speed(name: str, verb: str, direction: str, metric: str) -> str:
    if direction == OPEN:
        return f"Whether {name} is faster or slower in {metric} is not resolved"
    return f"{name} {verb} {direction} than AR in {metric}"


def _direction(estimate: Estimate) -> str:
    return {"above": "faster", "below": "slower", "open": OPEN}[estimate.side(1)]
