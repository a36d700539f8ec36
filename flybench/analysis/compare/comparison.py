"""The work of `flybench compare A B`: A is the base, B is what is asked about.

Exit codes, for CI: 0 every gate holds, that is, its whole 95 % interval does; 1 one is broken, its
whole interval is below the bar; 3 none is broken and one is not resolved, so that what was not
shown never passes as shown (a job that can live with that tests for 3).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from flybench.analysis.compare.changes import changes
from flybench.analysis.compare.figures import (
    AR_ITSELF,
    OVER_AR,
    TO_ANSWER,
    Accuracy,
    ComparedFigure,
    accuracy,
    counts,
    divergence,
    times,
)
from flybench.analysis.compare.gates import (
    Gate,
    despite_failures,
    exit_code,
    retention_gate,
    speed_gate,
)
from flybench.analysis.compare.sides import Side
from flybench.analysis.compare.text import Comparison, text
from flybench.analysis.compare.unlike import (
    accuracy_blocker,
    check_alike,
    shared_samples,
    speed_blocker,
)
from flybench.core.errors import FlybenchError

# AR's times in two runs of one machine may differ by this share before a reader is told.
DRIFT = 0.02


class Asked(NamedTuple):
    """The command line."""

    a: Path
    b: Path
    loss: float | None
    speedup: float | None
    across_machines: bool
    json: Path | None


def compare_command(asked: Asked) -> int:
    """Print the comparison; 0 if every gate holds, 1 if one is broken, 3 if one is not resolved.

    Raises:
        FlybenchError: the runs are unlike, or a gate asks for what they cannot show.
    """
    found = compare(asked)
    if asked.json is not None:
        asked.json.write_text(json.dumps(_plain(found), indent=2) + "\n", encoding="utf-8")
    print(text(found))
    return exit_code(found.gates)


def compare(asked: Asked) -> Comparison:
    """Everything that two runs say of each other over their shared samples."""
    a, b = Side.read("A", asked.a), Side.read("B", asked.b)
    check_alike(a, b)
    shared = shared_samples(a, b)
    failed = len(set(a.samples.index) & b.unfinished)
    a, b = a.among(shared), b.among(shared)
    no_speed, no_accuracy = speed_blocker(a, b), accuracy_blocker(a, b)
    timed = {} if no_speed and not asked.across_machines else times(a, b)
    judged = None if no_accuracy else accuracy(a, b)
    gates = [
        despite_failures(gate, failed)
        for gate in _gates(asked, timed, judged, no_speed, no_accuracy)
    ]
    return Comparison(
        a=a.path,
        b=b.path,
        methods=(a.method, b.method),
        title=f"{a.provenance['task']}, {a.provenance['model']}",
        shared=len(shared),
        changes=changes(a, b),
        figures={**timed, **counts(a, b)},
        accuracy=judged,
        divergence=divergence(a, b),
        notes=list(_notes(a, b, timed, failed, no_speed, no_accuracy)),
        gates=gates,
    )


def _gates(
    asked: Asked,
    timed: dict[str, ComparedFigure],
    judged: Accuracy | None,
    no_speed: str | None,
    no_accuracy: str | None,
) -> Iterator[Gate]:
    if asked.loss is not None:
        if judged is None:
            why = no_accuracy or "no shared sample was judged in both"
            raise FlybenchError(
                f"--max-retention-loss asks for accuracies, which cannot be compared: {why}."
            )
        yield retention_gate(judged, asked.loss)
    if asked.speedup is not None:
        # Seconds of two machines tell of the machines; each method's speed-up there does not.
        name = OVER_AR if no_speed else TO_ANSWER
        if name not in timed:
            blocked = no_speed if not timed else f"{no_speed}, and one has no AR to divide by"
            raise FlybenchError(
                f"--min-speedup asks for times, which cannot be compared: {blocked}; run both on "
                "one machine, or add --across-machines to compare speed-ups over AR."
            )
        what = OVER_AR if name == OVER_AR else "speed to the answer"
        yield speed_gate(f"B's {what}, ÷ A's,", timed[name], asked.speedup)


def _notes(
    a: Side,
    b: Side,
    timed: dict[str, ComparedFigure],
    failed: int,
    no_speed: str | None,
    no_accuracy: str | None,
) -> Iterator[str]:
    if no_speed and timed:
        yield f"Times are of unlike runs, since {no_speed}: only speed-ups over AR compare methods."
    elif no_speed:
        yield f"Times are not compared, since {no_speed}; --across-machines shows them."
    drift = timed.get(AR_ITSELF)
    if not no_speed and drift and drift.ratio and abs(drift.ratio - 1) > DRIFT:
        yield (
            f"AR itself was {drift.ratio:.2f} times as fast in B: the machine's state or the "
            f"engine changed, so read the {OVER_AR}."
        )
    if no_accuracy:
        yield f"Accuracies are not compared, since {no_accuracy}."
    if failed:
        yield f"{failed} samples that A finished failed in B and are left out."
    for side in (a, b):
        yield from (f"{side.name}: {warning}" for warning in side.provenance.get("warnings", []))


def _plain(found: Comparison) -> dict[str, object]:
    """The comparison as JSON's own types."""
    known = found.accuracy
    return {
        **found._asdict(),
        "a": str(found.a),
        "b": str(found.b),
        "figures": {name: figure._asdict() for name, figure in found.figures.items()},
        "accuracy": known and {**known._asdict(), "retention": known.retention._asdict()},
        "divergence": found.divergence._asdict(),
        "gates": [gate._asdict() for gate in found.gates],
    }
