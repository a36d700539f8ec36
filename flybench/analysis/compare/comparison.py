"""Implementation of `flybench compare A B`: A is the base and B the candidate.

Exit codes for CI:

- 0: every gate passes: its whole 95 % interval is at or above the threshold.
- 1: a gate fails: its whole interval is below the threshold.
- 3: no gate fails, but at least one is not resolved. A CI job may choose to accept this code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from flybench.analysis.compare.changes import changes
from flybench.analysis.compare.comparability import (
    accuracy_blocker,
    check_alike,
    shared_samples,
    speed_blocker,
)
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
from flybench.analysis.compare.sides import ComparedRun
from flybench.analysis.compare.text import Comparison, text
from flybench.core.errors import FlybenchError

# Relative difference of AR's times on the same machine above which a note is printed.
DRIFT = 0.02


class CompareOptions(NamedTuple):
    """The options of the command line."""

    a: Path
    b: Path
    loss: float | None
    speedup: float | None
    across_machines: bool
    json: Path | None


def compare_command(options: CompareOptions) -> int:
    """Print the comparison; 0 if every gate holds, 1 if one is broken, 3 if one is not resolved.

    Raises:
        FlybenchError: the runs are not comparable, or a gate needs figures that they lack.
    """
    comparison = compare(options)
    if options.json is not None:
        options.json.write_text(json.dumps(_plain(comparison), indent=2) + "\n", encoding="utf-8")
    print(text(comparison))
    return exit_code(comparison.gates)


def compare(options: CompareOptions) -> Comparison:
    """Compare two runs over the samples that both finished."""
    a, b = ComparedRun.read("A", options.a), ComparedRun.read("B", options.b)
    check_alike(a, b)
    shared = shared_samples(a, b)
    failed = len(set(a.samples.index) & b.unfinished)
    a, b = a.among(shared), b.among(shared)
    no_speed, no_accuracy = speed_blocker(a, b), accuracy_blocker(a, b)
    timed = {} if no_speed and not options.across_machines else times(a, b)
    judged = None if no_accuracy else accuracy(a, b)
    gates = [
        despite_failures(gate, failed)
        for gate in _gates(options, timed, judged, no_speed, no_accuracy)
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
    options: CompareOptions,
    timed: dict[str, ComparedFigure],
    judged: Accuracy | None,
    no_speed: str | None,
    no_accuracy: str | None,
) -> Iterator[Gate]:
    if options.loss is not None:
        if judged is None:
            reason = no_accuracy or "no shared sample was judged in both"
            raise FlybenchError(
                f"--max-retention-loss needs accuracies, which cannot be compared: {reason}."
            )
        yield retention_gate(judged, options.loss)
    if options.speedup is not None:
        # Seconds on two machines differ by the machine, speed-ups over AR much less.
        name = OVER_AR if no_speed else TO_ANSWER
        if name not in timed:
            blocker = no_speed if not timed else f"{no_speed}, and a run lacks AR"
            raise FlybenchError(
                f"--min-speedup needs times, which cannot be compared: {blocker}; run both on "
                "one machine, or add --across-machines to compare speed-ups over AR."
            )
        label = OVER_AR if name == OVER_AR else "speed to the answer"
        yield speed_gate(f"{label} (B ÷ A)", timed[name], options.speedup)


def _notes(
    a: ComparedRun,
    b: ComparedRun,
    timed: dict[str, ComparedFigure],
    failed: int,
    no_speed: str | None,
    no_accuracy: str | None,
) -> Iterator[str]:
    if no_speed and timed:
        yield f"Compare methods by their speed-ups over AR, not by times, because {no_speed}."
    elif no_speed:
        yield f"Times are not compared, because {no_speed}; --across-machines shows them."
    drift = timed.get(AR_ITSELF)
    if not no_speed and drift and drift.ratio and abs(drift.ratio - 1) > DRIFT:
        yield (
            f"AR itself was {drift.ratio:.2f} times as fast in B, because the machine's state or "
            f"the engine changed: compare the {OVER_AR}."
        )
    if no_accuracy:
        yield f"Accuracies are not compared, because {no_accuracy}."
    if failed:
        yield f"{failed} samples that A finished failed in B and are excluded."
    for side in (a, b):
        yield from (f"{side.name}: {warning}" for warning in side.provenance.get("warnings", []))


def _plain(comparison: Comparison) -> dict[str, object]:
    """Convert a comparison to JSON types."""
    judged = comparison.accuracy
    return {
        **comparison._asdict(),
        "a": str(comparison.a),
        "b": str(comparison.b),
        "figures": {name: each._asdict() for name, each in comparison.figures.items()},
        "accuracy": judged and {**judged._asdict(), "retention": judged.retention._asdict()},
        "divergence": comparison.divergence._asdict(),
        "gates": [gate._asdict() for gate in comparison.gates],
    }
