"""The verdict in plain words: is the method faster, and does it keep the accuracy?

A small sample, or an interval that contains the value asked about, is said to settle nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from flybench.report.finding import INTERVAL, OPEN, TOO_SMALL, Finding, count
from flybench.report.notes import notes
from flybench.report.run import Arm, Run
from flybench.report.speed import speed
from flybench.report.tables import Cell, cell
from flybench.report.text import number, percent
from flybench.stats import Pairs, samples_needed
from flybench.summary import Row

NUMBERS = ("speedup_throughput", "speedup_latency", "retention")
BASELINE_NUMBERS = ("tokens_per_second", "accuracy")


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
    return {name: cell(arm.row, name) for name in names if _known(arm.row, name)}


def _known(row: Row, name: str) -> bool:
    return row[name] is not None or name in row["too_few"]


def _findings(run: Run, arm: Arm) -> list[Finding]:
    if not arm.row["n"]:
        text = f"No sample of {arm.method} finished, so nothing was measured."
        return [Finding("bad", "no result", text)]
    if arm.method == "ar":
        return [_baseline(arm)]
    return [speed(run, arm), _accuracy(run, arm)]


def _baseline(arm: Arm) -> Finding:
    row = arm.row
    text = (
        f"Only plain decoding (AR) ran, at {number(row['tokens_per_second'], 1)} tokens/s over "
        f"{count(row['n'], 'sample')}: there is no method to compare it with. "
    )
    if not row["n_scored"]:
        return Finding("open", "baseline only", f"{text}No answer was scored.")
    ends = " to ".join(percent(end) for end in row["accuracy_ci"])
    scored = count(row["n_scored"], "scored answer")
    text += f"Its accuracy is {percent(row['accuracy'])} ({INTERVAL} {ends}) over {scored}."
    return Finding("open", "baseline only", text)


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
    solved = counts.both + counts.lost
    unknown = (
        f"not given as AR solved too few (n={solved})" if solved else "undefined as AR solved none"
    )
    retention = unknown if kept is None else percent(kept)
    facts = (
        f"{pairs['correct'].sum():g}/{n} right against {pairs['correct_ar'].sum():g}/{n} for AR, "
        f"retention {retention} ({INTERVAL} {ends}), {counts.lost} lost and {counts.won} won "
        f"(McNemar p {'< 0.001' if p < 0.001 else f'= {p:.3f}'})."
    )
    if kept is None:
        few = f"only {solved}" if solved else "none"
        text = f"AR solved {few} of the judged samples, too few for a ratio: {facts}"
        text += f" n = {n} is too small for a claim about accuracy." if n < TOO_SMALL else ""
        return Finding.of(f"accuracy {answer}", text, n)
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
    return Finding.of(f"accuracy {answer}", text, n)
