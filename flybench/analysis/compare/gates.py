"""Gates for CI: a requirement on B, decided by the ends of a 95 % interval.

A gate passes if the whole interval is at or above the threshold, and fails if it is entirely
below. Otherwise it is not resolved.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from flybench.analysis.compare.figures import Accuracy, ComparedFigure
from flybench.config.checks import MAX_COUNT
from flybench.metrics.paired import Estimate
from flybench.metrics.stats import Side, samples_needed
from flybench.metrics.suppression import POWER

State = Literal["holds", "broken", "not resolved"]
STATES: dict[Side, State] = {"above": "holds", "below": "broken", "open": "not resolved"}
HOLDS, BROKEN, OPEN = 0, 1, 3
AS_MEASURED = "if the figures stay as measured"


class Gate(NamedTuple):
    """A requirement, such as `--min-speedup 1.2`, with its state and the reason for it."""

    claim: str
    state: State
    text: str


def exit_code(gates: Iterable[Gate]) -> int:
    """Return 1 if a gate is broken, else 3 if one is not resolved, else 0."""
    states = {gate.state for gate in gates}
    if "broken" in states:
        return BROKEN
    return OPEN if "not resolved" in states else HOLDS


def retention_gate(found: Accuracy, loss: float) -> Gate:
    """Require that B keeps at least 1 − `loss` of A's accuracy."""
    claim, bar = f"--max-retention-loss {loss:g}", 1 - loss
    kept = found.retention.estimate
    if not found.resolvable or kept.point is None:
        reason = f"A solved {found.right_a:g} of {found.n}, too few for a ratio"
        return Gate(claim, "not resolved", f"{reason}: choose questions that A can answer")
    needed, plan = kept.needed(bar), AS_MEASURED
    if found.pairs is not None and kept.point >= bar:
        needed = samples_needed(found.pairs, loss, POWER)
        plan = "if B is as accurate as A"
    return _gate(claim, "retention", kept, bar, needed, plan)


def speed_gate(name: str, figure: ComparedFigure, bar: float) -> Gate:
    """Require that B is at least `bar` times as fast as A by the figure `name`."""
    claim = f"--min-speedup {bar:g}"
    found = figure.estimate
    if found.point is None or found.interval is None:
        return Gate(claim, "not resolved", f"{figure.n} samples give no interval: run more")
    return _gate(claim, name, found, bar, found.needed(bar), AS_MEASURED)


def despite_failures(gate: Gate, failed: int) -> Gate:
    """Return the gate as not resolved if it holds only without samples that `failed` in B."""
    if not failed or gate.state == "broken":
        return gate
    text = f"{failed} samples that A finished failed in B, and the figures exclude them"
    return gate._replace(state="not resolved", text=text)


def _gate(claim: str, name: str, found: Estimate, bar: float, needed: float, plan: str) -> Gate:
    state, where = STATES[found.side(bar)], f"{name} {found.brief()}"
    if state == "holds":
        return Gate(claim, state, f"{where} is entirely at or above {bar:g}")
    if state == "broken":
        return Gate(claim, state, f"{where} is entirely below {bar:g}")
    many = f"n ≥ {needed:,.0f}" if needed < MAX_COUNT else f"over {MAX_COUNT:,} samples"
    text = f"{where} contains {bar:g}; needs {many} for {100 * POWER:g} % power, {plan}"
    return Gate(claim, state, text)
