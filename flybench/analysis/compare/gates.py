"""Gates for CI: a claim about B that the data must show, decided by an interval's end.

A claim holds if the whole 95 % interval is on its side, and is broken if the whole interval is on
the other. Between the two the data do not tell, and nothing is taken for shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from flybench.analysis.compare.figures import Accuracy, Figure
from flybench.config.checks import MANY
from flybench.metrics.stats import POWER, Interval, samples_apart, samples_needed

State = Literal["holds", "broken", "not resolved"]
HOLDS, BROKEN, OPEN = 0, 1, 3


class Gate(NamedTuple):
    """A claim as the command line gave it, what became of it, and why in a few words."""

    claim: str
    state: State
    text: str


def exit_code(gates: Iterable[Gate]) -> int:
    """1 if one is broken, else 3 if one is not resolved, else 0."""
    states = {gate.state for gate in gates}
    if "broken" in states:
        return BROKEN
    return OPEN if "not resolved" in states else HOLDS


def retention_gate(found: Accuracy, loss: float) -> Gate:
    """Whether B keeps at least 1 − `loss` of A's accuracy."""
    claim, bar = f"--max-retention-loss {loss:g}", 1 - loss
    point, interval = found.retention.ratio, found.retention.interval
    if not found.resolvable or point is None or interval is None:
        few = f"A solved {found.right_a:g} of {found.n}, too few for a ratio"
        return Gate(claim, "not resolved", f"{few}: choose questions that A can answer")
    state = _state(interval, bar)
    needed = samples_apart(found.n, point, interval, bar)
    plan = "if the figures stay as they are"
    if found.pairs is not None and point >= bar:
        needed = samples_needed(found.pairs, loss, POWER)
        plan = "if B is as accurate as A"
    return Gate(claim, state, _told("retention", point, interval, bar, state, needed, plan))


def speed_gate(name: str, figure: Figure, bar: float) -> Gate:
    """Whether B is at least `bar` times as fast as A by the figure of that name."""
    claim = f"--min-speedup {bar:g}"
    if figure.ratio is None or figure.interval is None:
        return Gate(claim, "not resolved", f"{figure.n} samples give no interval: run more")
    state = _state(figure.interval, bar)
    needed = samples_apart(figure.n, figure.ratio, figure.interval, bar)
    plan = "if the figures stay as they are"
    text = _told(name, figure.ratio, figure.interval, bar, state, needed, plan)
    return Gate(claim, state, text)


def despite_failures(gate: Gate, failed: int) -> Gate:
    """The gate where samples that A finished failed in B: the rest cannot show that it holds."""
    if not failed or gate.state == "broken":
        return gate
    text = f"{failed} samples that A finished failed in B, which the figures leave out"
    return gate._replace(state="not resolved", text=text)


def _state(interval: Interval, bar: float) -> State:
    if interval.low >= bar:
        return "holds"
    return "broken" if interval.high < bar else "not resolved"


def _told(
    name: str,
    point: float,
    interval: Interval,
    bar: float,
    state: State,
    needed: float,
    plan: str,
) -> str:
    where = f"{name} {point:.3g} [{interval.low:.3g}, {interval.high:.3g}]"
    if state == "holds":
        return f"{where} is all at or above {bar:g}"
    if state == "broken":
        return f"{where} is all below {bar:g}"
    many = f"n ≥ {needed:,.0f}" if needed < MANY else f"over {MANY:,} samples"
    return f"{where} contains {bar:g}; needs {many} for 80 % power, {plan}"
