"""Real runs of the candidates on the second half of the samples, until intervals are conclusive.

AR and all methods run side by side on every sample. The number of samples grows with every look
(interim analysis). A loose setting that is resolved at a look is not run any further. Because
several settings are tested at several looks, the intervals are Bonferroni-corrected for both: at
most one tuning run in twenty confirms a setting by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from flybench.analysis.tune.cells import CellRunner
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
    """The results of a method on `n` samples.

    Attributes:
        failed: number of failed samples, which are excluded.
        level: confidence level of the intervals.
        speedup: time to answer, AR ÷ the method.
        gain: time to answer, the exact method ÷ the method.
        judged: number of scored pairs of answers.
        solved: number of right answers of AR among them, or the sum of grades.
        retention: accuracy, the method ÷ AR; without a value if AR solved too few.
        pairs: discordant and concordant pairs; None for grades.
        length_ratio: tokens of the answers, the method ÷ AR.
        state: the decision on a loose method, `exact` for the exact one.
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
        """Return whether the method is shown to be faster, or slower, than AR."""
        return self.speedup.side(1) != "open"


def confirm(
    cells: CellRunner,
    config: RunConfig,
    exact: MethodConfig,
    loose: Sequence[MethodConfig],
    looks: int,
) -> list[CandidateResult]:
    """Decode up to `config.limit` samples by every method; return results, the exact one's first.

    Raises:
        FlybenchError: a method's run failed.
    """
    assert config.limit is not None, "the limit of a half is set"
    counts = sizes(config.limit, looks)
    level = 1 - SIGNIFICANCE / (len(counts) * (len(loose) + 1))
    found: dict[MethodConfig, CandidateResult] = {}
    alive = list(loose)
    for size in counts:
        configs = [replace(config, method=method, limit=size) for method in (exact, *alive)]
        plain, *methods = cells.run(configs)
        for plan in (plain, *methods):
            found[plan.config.method] = candidate_result(plan, plain, level)
        alive = [method for method in alive if found[method].state == "not resolved"]
        confirmed = any(each.state == "confirmed" for each in found.values())
        if not alive and (confirmed or found[exact].certain):
            break
    return [found[method] for method in (exact, *loose)]


def sizes(samples: int, looks: int) -> list[int]:
    """Return the number of samples at each look, which doubles up to all `samples`."""
    return list(dict.fromkeys(ceil(samples / 2**n) for n in reversed(range(looks))))


def candidate_result(plan: Plan, exact: Plan, level: float) -> CandidateResult:
    """Return the result of the run of `plan`, with `exact` as the run of the exact method."""
    method, margin = plan.config.method, plan.config.retention_margin
    samples = {prompt.sample_id for prompt in plan.prompts}
    own, other = (
        MethodResult(
            folder=CachedFolder.of(each.folder), method=each.config.method.name, only=samples
        )
        for each in (plan, exact)
    )
    plain = baseline_of(own.folder, samples)
    over_ar, over_exact = own.over(plain, level), own.over(other, level)
    speedup, gain = over_ar.speedup(), over_exact.speedup()
    kept = over_ar.retention()
    if not over_ar.resolvable or kept.interval is None:
        # If AR solved almost nothing, retention is undefined.
        kept = kept._replace(point=None, interval=None)
    failed = plain.samples.index.difference(own.samples.index)
    return CandidateResult(
        method=method,
        folder=plan.folder,
        n=speedup.n,
        failed=len(samples) - len(own.samples),
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
    """Return the state of a loose setting from its speed-ups over AR and over the exact setting.

    A setting that `failed` on a sample that AR answered is never confirmed.
    """
    sides = {faster.side(1), gained.side(1)}
    if kept == "lost":
        return "loses accuracy"
    if "below" in sides:
        return "not faster"
    wins = sides == {"above"}
    return "confirmed" if wins and kept == "kept" and not failed else "not resolved"
