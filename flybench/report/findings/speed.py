"""Is the method faster, by the token and to the whole answer? One that writes more wins nothing."""

from __future__ import annotations

from collections.abc import Sequence

from flybench.metrics.stats import ratio
from flybench.metrics.summary import Row
from flybench.report.findings.finding import INTERVAL, OPEN, TO_ANSWER, TOO_SMALL, Finding, count
from flybench.report.run import Arm, Run
from flybench.text import number, percent


def speed(run: Run, arm: Arm) -> Finding:
    """Both speed-ups, and beside them how long the answers are and how they end."""
    row, name, n = arm.row, arm.method, arm.row["n_paired"]
    if not n:
        text = f"No sample was finished by both AR and {name}, so no speed-up can be given."
        return Finding("open", "no baseline", text)
    if row["speedup_latency"] is None:
        text = f"One sample was finished by both AR and {name}, and one has no interval of speed."
        return Finding("open", "speed not resolved, n too small", text)
    throughput, latency = (_times(row, f"speedup_{what}") for what in ("throughput", "latency"))
    first, second = (_direction(row[f"speedup_{what}_ci"]) for what in ("throughput", "latency"))
    verb = "looks" if n < TOO_SMALL else "is"
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
    if n < TOO_SMALL:
        text += f" n = {n} is too small for a claim about speed."
    elif OPEN in (first, second):
        text += f" An interval that contains 1× cannot tell at n = {n}."
    return Finding.of(_badge(first, second), text, n)


def _badge(throughput: str, latency: str) -> str:
    if throughput == latency:
        return f"speed {OPEN}" if latency == OPEN else latency
    if throughput == "faster":
        return TO_ANSWER if latency == "slower" else "faster tokens, not answers"
    return "speed mixed"


def _grown(row: Row) -> str:
    """The length of the answers as a reason, where it is one."""
    grown = row["length_ratio"]
    return f": the answers grew to {number(grown)}× AR's length" if grown > 1 else ""


def _lengths(run: Run, arm: Arm) -> str:
    """What a speed-up must be read with: lengths, cuts at the cap and loops, beside AR's."""
    pairs = run.paired(arm)
    capped, capped_ar = (percent(pairs[name].mean()) for name in ("capped", "capped_ar"))
    loops, loops_ar = (
        percent(ratio(pairs[f"looped{end}"], pairs[f"tokens{end}"])) for end in ("", "_ar")
    )
    return (
        f"Its answers have {number(arm.row['length_ratio'])}× the tokens of AR's, {capped} of them "
        f"are cut off at the cap ({capped_ar} of AR's), and {loops} of their tokens are loops "
        f"({loops_ar} of AR's)."
    )


def _one_speed(name: str, verb: str, direction: str, where: str) -> str:
    if direction == OPEN:
        return f"Whether {name} is faster or slower in {where} is not resolved"
    return f"{name} {verb} {direction} than AR in {where}"


def _direction(ends: Sequence[float] | None) -> str:
    if ends is None or ends[0] <= 1 <= ends[1]:
        return OPEN
    return "faster" if ends[0] > 1 else "slower"


def _times(row: Row, name: str) -> str:
    point, ends = number(row[name]), row[f"{name}_ci"]
    if ends is None:
        return f"{point}× (no interval)"
    return f"{point}× ({INTERVAL} {number(ends[0])} to {number(ends[1])})"
