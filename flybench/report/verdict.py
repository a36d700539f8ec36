"""The verdict in plain words: is the method faster, and does it keep the accuracy?

A small sample, or an interval that contains the value asked about, is said to settle nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flybench.report.notes import notes
from flybench.report.run import Arm, Run
from flybench.report.tables import Cell, cell
from flybench.report.text import number, percent
from flybench.stats import Pairs, samples_needed
from flybench.summary import Row

TOO_SMALL = 30
OPEN = "not resolved"
INTERVAL = "95\u00a0% interval"
NUMBERS = ("speedup_throughput", "speedup_latency", "retention")
BASELINE_NUMBERS = ("tokens_per_second", "accuracy")
KIND = {"faster": "good", "kept": "good", "slower": "bad", "lost": "bad"}


class Finding(NamedTuple):
    """An answer in a few words (`badge`, coloured by `kind`: good, bad or open) and in full."""

    kind: str
    badge: str
    text: str


class Verdict(NamedTuple):
    """What one arm's data say; `numbers` names the figures to show large."""

    title: str
    numbers: dict[str, Cell]
    findings: list[Finding]
    notes: list[str]


def verdicts(run: Run) -> list[Verdict]:
    """One verdict for each method that was compared; one for AR if it ran alone."""
    return [
        Verdict(arm.label, _numbers(arm), _findings(run, arm), notes(run, arm)) for arm in run.shown
    ]


def _numbers(arm: Arm) -> dict[str, Cell]:
    names = BASELINE_NUMBERS if arm.method == "ar" else NUMBERS
    return {name: cell(arm.row, name) for name in names if arm.row[name] is not None}


def _findings(run: Run, arm: Arm) -> list[Finding]:
    if not arm.row["n"]:
        text = f"No sample of {arm.method} finished, so nothing was measured."
        return [Finding("bad", "no result", text)]
    if arm.method == "ar":
        return [_baseline(arm)]
    return [_speed(arm), _accuracy(run, arm)]


def _baseline(arm: Arm) -> Finding:
    row = arm.row
    text = (
        f"Only plain decoding (AR) ran, at {number(row['tokens_per_second'], 1)} tokens/s over "
        f"{_count(row['n'], 'sample')}: there is no method to compare it with. "
    )
    if not row["n_scored"]:
        return Finding("open", "baseline only", f"{text}No answer was scored.")
    ends = " to ".join(percent(end) for end in row["accuracy_ci"])
    scored = _count(row["n_scored"], "scored answer")
    text += f"Its accuracy is {percent(row['accuracy'])} ({INTERVAL} {ends}) over {scored}."
    return Finding("open", "baseline only", text)


def _speed(arm: Arm) -> Finding:
    row, name, n = arm.row, arm.method, arm.row["n_paired"]
    if not n:
        text = f"No sample was finished by both AR and {name}, so no speed-up can be given."
        return Finding("open", "no baseline", text)
    small = n < TOO_SMALL
    throughput, latency = (_times(row, f"speedup_{what}") for what in ("throughput", "latency"))
    first, second = (_direction(row[f"speedup_{what}_ci"]) for what in ("throughput", "latency"))
    verb = "looks" if small else "is"
    both = f"{throughput} in throughput and {latency} in time to answer"
    if first != second:
        text = (
            f"{_one_speed(name, verb, first, 'throughput')}: {throughput}. "
            f"{_one_speed(name, verb, second, 'time to answer')}: {latency}."
        )
    elif first == OPEN:
        text = f"Whether {name} is faster or slower than AR is not resolved: {both}."
    else:
        text = f"{name} {verb} {first} than AR: {both}, over {_count(n, 'paired sample')}."
    if small:
        text += f" n = {n} is too small for a claim about speed."
    elif OPEN in (first, second):
        text += f" An interval that contains 1× cannot tell at n = {n}."
    badge = f"speed {OPEN}" if first == second == OPEN else first
    badge = badge if first == second else "speed mixed"
    return _finding(badge, text, small)


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


def _accuracy(run: Run, arm: Arm) -> Finding:
    row, name, pairs = arm.row, arm.method, run.judged(arm)
    n, answer = len(pairs), row["retention_verdict"]
    if not n:
        judge = "Nothing judges this task"
        judge = judge if run.provenance.get("judged") == "unjudged" else "No pair was scored"
        return Finding("open", "accuracy unknown", f"{judge}: the data say nothing of accuracy.")
    counts = Pairs(*row["pairs"])
    ends = " to ".join(percent(end) for end in row["retention_ci"] or []) or "none"
    p, kept = row["mcnemar_p"], row["retention"]
    retention = "undefined as AR solved none" if kept is None else percent(kept)
    facts = (
        f"{pairs['correct'].sum():g}/{n} right against {pairs['correct_ar'].sum():g}/{n} for AR, "
        f"retention {retention} ({INTERVAL} {ends}), {counts.lost} lost and {counts.won} won "
        f"(McNemar p {'< 0.001' if p < 0.001 else f'= {p:.3f}'})."
    )
    if kept is None:
        text = f"AR solved none of the judged samples, so there is no accuracy to keep: {facts}"
        return _finding(f"accuracy {answer}", text, n < TOO_SMALL)
    asked = f"the {percent(1 - run.margin)} that the margin asks for"
    text = {
        "kept": f"{name} keeps AR's accuracy: {facts} All of the interval is at or above {asked}.",
        "lost": f"{name} loses accuracy: {facts} All of the interval is below {asked}.",
        OPEN: f"Whether {name} keeps AR's accuracy is not resolved: {facts} The interval spans "
        f"{asked}, so the data cannot tell at n = {n}.",
    }[answer]
    if n < TOO_SMALL:
        text += f" n = {n} is too small for a claim about accuracy."
    elif answer == OPEN:
        needed = samples_needed(counts, run.margin, 0.8)
        text += f" If nothing is lost, about {needed:,} samples would tell four times in five."
    return _finding(f"accuracy {answer}", text, n < TOO_SMALL)


def _finding(badge: str, text: str, small: bool) -> Finding:
    kind = "open" if small else KIND.get(badge.removeprefix("accuracy "), "open")
    return Finding(kind, f"{badge}, n too small" if small else badge, text)


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
