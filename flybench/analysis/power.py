"""The work of `flybench power`: how many samples would tell whether a method keeps the accuracy.

From a run's own pairs: how often AR is right, and how often the method and AR disagree.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from flybench.config import BASELINES
from flybench.config.checks import MANY
from flybench.metrics.results import baseline_of, results
from flybench.metrics.stats import Pairs, samples_needed
from flybench.metrics.suppression import FEWEST_SETTLING, POWER, SURER_POWER
from flybench.records.folder import RunFolder

log = logging.getLogger(__name__)

MARGINS = (0.005, 0.01, 0.02, 0.05)
POWERS = (POWER, SURER_POWER)


def power(folders: Sequence[RunFolder], given: Sequence[float]) -> int:
    """Print a table for each run and method, at the `given` margins or the usual ones.

    Returns the exit code: 2 if a run has nothing to plan with.
    """
    code = 0
    for folder in folders:
        found = list(_judged(folder))
        if not found:
            code = 2
            log.error(
                "%s has no pair of judged answers of ar and a method, or grades instead of right "
                "and wrong ones, or ar solved none: choose a run of a method, of a task that a "
                "rule scores and ar can solve.",
                folder.path,
            )
        own = folder.provenance()["retention_margin"]
        for method, pairs in found:
            margins = sorted(set(given or [own, *MARGINS]))
            print("\n".join(_lines(f"{folder.path.name}, {method}", pairs, margins)) + "\n")
    return code


def _judged(folder: RunFolder) -> Iterator[tuple[str, Pairs]]:
    for result in results(folder):
        if result.method in BASELINES:
            continue
        pair = result.over(baseline_of(result.folder))
        pairs = pair.discordant()
        # Where AR solved nothing, there is nothing to keep.
        if pairs is not None and pair.solved:
            yield result.method, pairs


def _lines(name: str, pairs: Pairs, margins: Sequence[float]) -> Iterator[str]:
    yield (
        f"{name}: of {sum(pairs)} pairs {pairs.both} right in both, {pairs.lost} lost, {pairs.won} "
        f"won, {pairs.neither} wrong in both"
    )
    yield f"  {'margin':>8}" + "".join(f"{f'{power:.0%} sure':>16}" for power in POWERS)
    for margin in margins:
        counts = (samples_needed(pairs, margin, power) for power in POWERS)
        yield f"  {f'{margin:.4g}':>8}" + "".join(f"{_count(count):>16}" for count in counts)
    yield "  samples until `kept` is said so surely, if the method is as accurate as AR"
    if sum(pairs) < FEWEST_SETTLING:
        yield "  So few pairs say little of how often the two disagree: a lead, no plan."


def _count(samples: int) -> str:
    return f"{samples:,}" if samples < MANY else f"over {MANY:,}"
