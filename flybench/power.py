"""`flybench power RUN…`: how many samples would tell whether a method keeps the accuracy.

From a run's own pairs: how often AR is right, and how often the method and AR disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from flybench.arguments import Parser
from flybench.checks import share
from flybench.core import FlybenchError
from flybench.frames import methods_of, sample_frame
from flybench.records import RunFolder
from flybench.stats import Pairs, samples_needed

MARGINS = (0.005, 0.01, 0.02, 0.05)
POWERS = (0.8, 0.9)


def power_command(arguments: Sequence[str]) -> int:
    """Print a table for each run and method."""
    parser = Parser("power")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--margin", type=float, action="append")
    asked = parser.parse_args(list(arguments))
    margins = asked.margin or MARGINS
    for margin in margins:
        share("--margin", margin)
    for path in asked.runs:
        folder = RunFolder.existing(path)
        for method in [name for name in methods_of(folder) if name != "ar"]:
            print("\n".join(_lines(folder, method, margins)) + "\n")
    return 0


def _lines(folder: RunFolder, method: str, margins: Sequence[float]) -> Iterator[str]:
    baseline, samples = (sample_frame(folder, name)[["correct"]] for name in ("ar", method))
    judged = baseline.join(samples, rsuffix="_method").dropna()
    if not len(judged):
        raise FlybenchError(
            f"{folder.path} has no pair of judged answers of ar and {method}: choose a run of a "
            "task that is scored, such as gsm8k."
        )
    pairs = Pairs.of(judged["correct"], judged["correct_method"])
    yield (
        f"{folder.path.name}, {method}: of {sum(pairs)} pairs {pairs.both} right in both, "
        f"{pairs.lost} lost, {pairs.won} won, {pairs.neither} wrong in both"
    )
    yield f"  {'margin':>8}" + "".join(f"{f'{power:.0%} sure':>12}" for power in POWERS)
    for margin in margins:
        counts = (samples_needed(pairs, margin, power) for power in POWERS)
        yield f"  {f'{margin:.2%}':>8}" + "".join(f"{count:>12,}" for count in counts)
    yield "  samples until `kept` is said so surely, if the method is as accurate as AR"
