"""Implementation of `flybench power`: sample sizes for testing whether accuracy is retained.

They are computed from a run's discordant pairs: samples that only AR, or only the method, solved.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from flybench.config import BASELINES
from flybench.config.checks import MAX_COUNT
from flybench.metrics.results import baseline_of, results
from flybench.metrics.stats import Pairs, samples_needed
from flybench.metrics.suppression import HIGH_POWER, MIN_VERDICT_SAMPLES, POWER
from flybench.records.folder import RunFolder

log = logging.getLogger(__name__)

MARGINS = (0.005, 0.01, 0.02, 0.05)
POWERS = (POWER, HIGH_POWER)


def power(folders: Sequence[RunFolder], margins: Sequence[float]) -> int:
    """Print a table for each run and method, at `margins` or the default ones.

    Returns the exit code: 2 if a run has no pairs to plan with.
    """
    code = 0
    for folder in folders:
        scored = list(_scored(folder))
        if not scored:
            code = 2
            log.error(
                "%s has no rule-scored answers of both ar and a method, or ar solved none: "
                "choose a run of a method on a rule-scored task that ar can solve.",
                folder.path,
            )
        own = folder.provenance()["retention_margin"]
        for method, pairs in scored:
            shown = sorted(set(margins or [own, *MARGINS]))
            print("\n".join(_lines(f"{folder.path.name}, {method}", pairs, shown)) + "\n")
    return code


def _scored(folder: RunFolder) -> Iterator[tuple[str, Pairs]]:
    for result in results(folder):
        if result.method in BASELINES:
            continue
        pair = result.over(baseline_of(result.folder))
        pairs = pair.discordant()
        # If AR solved nothing, retention is undefined.
        if pairs is not None and pair.solved:
            yield result.method, pairs


def _lines(name: str, pairs: Pairs, margins: Sequence[float]) -> Iterator[str]:
    yield (
        f"{name}: of {sum(pairs)} pairs, {pairs.both} right in both, {pairs.lost} lost, "
        f"{pairs.won} won, {pairs.neither} wrong in both"
    )
    yield f"  {'margin':>8}" + "".join(f"{f'{power:.0%} power':>16}" for power in POWERS)
    for margin in margins:
        counts = (samples_needed(pairs, margin, power) for power in POWERS)
        yield f"  {f'{margin:.4g}':>8}" + "".join(f"{_count(count):>16}" for count in counts)
    yield "  samples needed for the verdict `kept`, if the method is as accurate as AR"
    if sum(pairs) < MIN_VERDICT_SAMPLES:
        yield "  With so few pairs the discordance rate is uncertain: treat these numbers as rough."


def _count(samples: int) -> str:
    return f"{samples:,}" if samples < MAX_COUNT else f"over {MAX_COUNT:,}"
