"""Is the method faster, by the token and to the whole answer? One that writes more wins nothing."""

from __future__ import annotations

from flybench.metrics.paired import Estimate
from flybench.metrics.rows import MethodSummary
from flybench.metrics.stats import ratio
from flybench.metrics.suppression import FEWEST_SETTLING
from flybench.report.findings.badge import OPEN, TO_ANSWER, VerdictBadge, count
from flybench.report.run import Arm, Run
from flybench.text import number, percent


def speed(run: Run, arm: Arm) -> VerdictBadge:
    """Both speed-ups, and beside them how long the answers are and how they end."""
    row, name, n = arm.row, arm.method, arm.row.n_paired
    if not n:
        text = f"No sample was finished by both AR and {name}, so no speed-up can be given."
        return VerdictBadge("open", "no baseline", text)
    if row.speedup_latency is None:
        text = f"One sample was finished by both AR and {name}, and one has no interval of speed."
        return VerdictBadge("open", "speed not resolved, n too small", text)
    estimates = [row.estimate(f"speedup_{what}") for what in ("throughput", "latency")]
    throughput, latency = (estimate.words("×") for estimate in estimates)
    first, second = map(_direction, estimates)
    verb = "looks" if n < FEWEST_SETTLING else "is"
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
        text += f" Faster tokens alone win nothing{_grown(row)}."
    text += f" {_lengths(run, arm)}"
    if n < FEWEST_SETTLING:
        text += f" n = {n} is too small for a claim about speed."
    elif OPEN in (first, second):
        text += f" An interval that contains 1× cannot tell at n = {n}."
    return VerdictBadge.of(_badge(first, second), text, n)


def _badge(throughput: str, latency: str) -> str:
    if throughput == latency:
        return f"speed {OPEN}" if latency == OPEN else latency
    if throughput == "faster":
        return TO_ANSWER if latency == "slower" else "faster tokens, not answers"
    return "speed mixed"


def _grown(row: MethodSummary) -> str:
    """The length of the answers as a reason, where it is one."""
    grown = row.length_ratio or 0
    return f": the answers grew to {number(grown)}× AR's length" if grown > 1 else ""


def _lengths(run: Run, arm: Arm) -> str:
    """What a speed-up must be read with: lengths, cuts at the cap and loops, beside AR's."""
    pairs = run.pair(arm).table
    capped, capped_ar = (percent(pairs[name].mean()) for name in ("capped", "capped_ar"))
    loops, loops_ar = (
        percent(ratio(pairs[f"looped{end}"], pairs[f"tokens{end}"])) for end in ("", "_ar")
    )
    return (
        f"Its answers have {number(arm.row.length_ratio)}× the tokens of AR's, {capped} of them "
        f"are cut off at the cap ({capped_ar} of AR's), and {loops} of their tokens are loops "
        f"({loops_ar} of AR's)."
    )


def _one_speed(name: str, verb: str, direction: str, where: str) -> str:
    if direction == OPEN:
        return f"Whether {name} is faster or slower in {where} is not resolved"
    return f"{name} {verb} {direction} than AR in {where}"


def _direction(estimate: Estimate) -> str:
    return {"above": "faster", "below": "slower", "open": OPEN}[estimate.side(1)]
