"""Real runs of the candidates on the other half of the samples, until intervals decide.

All methods and AR answer every sample side by side. The samples grow from look to look; a loose
setting that is decided at one is not decoded any further. Whoever looks often enough at enough
settings sees something, so that intervals are wider than 95 %, by Bonferroni over looks and
settings: a tuning confirms a setting that it should not at most once in twenty times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from flybench.analysis.tune.cells import Cells
from flybench.config import EXACT, MethodConfig, RunConfig
from flybench.metrics.paired import Estimate, RetentionVerdict
from flybench.metrics.results import MethodResult, baseline_of
from flybench.metrics.stats import Pairs
from flybench.metrics.suppression import SIGNIFICANCE
from flybench.records.cached import CachedFolder
from flybench.records.folder import RunFolder
from flybench.run.plan import Plan

State = Literal["exact", "confirmed", "loses accuracy", "not faster", "not resolved"]


@dataclass(frozen=True)
class CandidateResult:
    """What `n` samples say of a method: `state` is that of a loose one beside the exact one.

    `speedup` is AR's time to answer over the method's, `gain` the exact method's over it. `judged`
    answers were right in AR so often as `solved` says, and `pairs` where they were not graded;
    `retention` is theirs, without a figure where AR solved too few. `failed` samples are left out.
    """

    method: MethodConfig
    folder: RunFolder
    n: int
    failed: int
    level: float
    speedup: Estimate
    gain: Estimate
    judged: int
    solved: float
    retention: Estimate
    pairs: Pairs | None
    length_ratio: float | None
    state: State

    @property
    def certain(self) -> bool:
        """Whether it is known to be faster, or slower, than AR."""
        return self.speedup.side(1) != "open"


def confirm(
    cells: Cells,
    config: RunConfig,
    exact: MethodConfig,
    loose: Sequence[MethodConfig],
    looks: int,
) -> list[CandidateResult]:
    """Decode up to `config.limit` samples by every method; results, the exact one's first.

    Raises:
        FlybenchError: a method's run failed.
    """
    assert config.limit is not None, "a half has a size"
    counts = sizes(config.limit, looks)
    level = 1 - SIGNIFICANCE / (len(counts) * (len(loose) + 1))
    found: dict[MethodConfig, CandidateResult] = {}
    alive = list(loose)
    for size in counts:
        asked = [replace(config, method=method, limit=size) for method in (exact, *alive)]
        plain, *methods = cells.run(asked)
        for plan in (plain, *methods):
            found[plan.config.method] = candidate_result(plan, plain, level)
        alive = [method for method in alive if found[method].state == "not resolved"]
        confirmed = any(each.state == "confirmed" for each in found.values())
        if not alive and (confirmed or found[exact].certain):
            break
    return [found[method] for method in (exact, *loose)]


def sizes(samples: int, looks: int) -> list[int]:
    """How many samples there are at each look: all at the last, half as many at each before it."""
    return list(dict.fromkeys(ceil(samples / 2**n) for n in reversed(range(looks))))


def candidate_result(plan: Plan, exact: Plan, level: float) -> CandidateResult:
    """What the run of `plan` says of its samples, `exact` being the run beside it."""
    method, margin = plan.config.method, plan.config.retention_margin
    asked = {prompt.sample_id for prompt in plan.prompts}
    own, other = (
        MethodResult(
            folder=CachedFolder.of(each.folder), method=each.config.method.name, only=asked
        )
        for each in (plan, exact)
    )
    plain = baseline_of(own.folder, asked)
    over_ar, over_exact = own.over(plain, level), own.over(other, level)
    speedup, gain = over_ar.speedup(), over_exact.speedup()
    kept = over_ar.retention()
    if not over_ar.resolvable or kept.interval is None:
        # Where AR solved next to nothing there is nothing to keep.
        kept = kept._replace(point=None, interval=None)
    failed = plain.samples.index.difference(own.samples.index)
    return CandidateResult(
        method=method,
        folder=plan.folder,
        n=speedup.n,
        failed=len(asked) - len(own.samples),
        level=level,
        speedup=speedup,
        gain=gain,
        judged=kept.n,
        solved=over_ar.solved,
        retention=kept,
        pairs=over_ar.discordant(),
        length_ratio=over_ar.length_ratio(),
        state="exact"
        if method.verify == EXACT
        else _state(speedup, gain, kept.verdict(margin), len(failed) > 0),
    )


def _state(faster: Estimate, gained: Estimate, kept: RetentionVerdict, failed: bool) -> State:
    """`faster` than AR, `gained` over the exact setting; one that `failed` where AR did not is
    never confirmed."""
    sides = {faster.side(1), gained.side(1)}
    if kept == "lost":
        return "loses accuracy"
    if "below" in sides:
        return "not faster"
    wins = sides == {"above"}
    return "confirmed" if wins and kept == "kept" and not failed else "not resolved"
