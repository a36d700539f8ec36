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

import pandas as pd

from flybench.analysis.tune.cells import Cells
from flybench.config import EXACT, MethodConfig, RunConfig
from flybench.metrics.frames import sample_frame
from flybench.metrics.stats import (
    Interval,
    Pairs,
    Retention,
    bootstrap,
    ratio,
    retention_interval,
    retention_verdict,
)
from flybench.metrics.suppression import FEWEST
from flybench.records.folder import RunFolder
from flybench.run.plan import Plan

State = Literal["exact", "confirmed", "loses accuracy", "not faster", "not resolved"]


@dataclass(frozen=True)
class Finding:
    """What `n` samples say of a method: `state` is that of a loose one beside the exact one.

    `speedup` is AR's time to answer over the method's, `gain` the exact method's over it. `judged`
    answers were right in AR so often as `solved` says, and `pairs` where they were not graded;
    `retention` is theirs. `failed` samples are left out. Intervals are of `level`; None where there
    is no figure.
    """

    method: MethodConfig
    folder: RunFolder
    n: int
    failed: int
    level: float
    speedup: float | None
    speedup_ends: Interval | None
    gain: float | None
    gain_ends: Interval | None
    judged: int
    solved: float
    retention: float | None
    retention_ends: Interval | None
    pairs: Pairs | None
    length_ratio: float | None
    state: State

    @property
    def certain(self) -> bool:
        """Whether it is known to be faster, or slower, than AR."""
        return self.speedup_ends is not None and not (
            self.speedup_ends.low <= 1 <= self.speedup_ends.high
        )


def confirm(
    cells: Cells,
    config: RunConfig,
    exact: MethodConfig,
    loose: Sequence[MethodConfig],
    looks: int,
) -> list[Finding]:
    """Decode up to `config.limit` samples by every method; findings, the exact one's first.

    Raises:
        FlybenchError: a method's run failed.
    """
    assert config.limit is not None, "a half has a size"
    counts = sizes(config.limit, looks)
    level = 1 - 0.05 / (len(counts) * (len(loose) + 1))
    found: dict[MethodConfig, Finding] = {}
    alive = list(loose)
    for size in counts:
        asked = [replace(config, method=method, limit=size) for method in (exact, *alive)]
        plain, *methods = cells.run(asked)
        for plan in (plain, *methods):
            found[plan.config.method] = finding(plan, plain, level)
        alive = [method for method in alive if found[method].state == "not resolved"]
        confirmed = any(each.state == "confirmed" for each in found.values())
        if not alive and (confirmed or found[exact].certain):
            break
    return [found[method] for method in (exact, *loose)]


def sizes(samples: int, looks: int) -> list[int]:
    """How many samples there are at each look: all at the last, half as many at each before it."""
    return list(dict.fromkeys(ceil(samples / 2**n) for n in reversed(range(looks))))


def finding(plan: Plan, exact: Plan, level: float) -> Finding:
    """What the run of `plan` says of its samples, `exact` being the run beside it."""
    method, margin = plan.config.method, plan.config.retention_margin
    asked = {prompt.sample_id for prompt in plan.prompts}
    plain, own, other = (
        _of(folder, name, asked)
        for folder, name in (
            (plan.folder, "ar"),
            (plan.folder, method.name),
            (exact.folder, exact.config.method.name),
        )
    )
    over_ar, over_exact = _joined(plain, own), _joined(other, own)
    judged = over_ar.dropna(subset=["correct_a", "correct_b"])
    before, after = judged["correct_a"], judged["correct_b"]
    # Where AR solved next to nothing there is nothing to keep.
    kept = retention_interval(before, after, level) if before.sum() >= FEWEST else None
    faster, gained = _ends(over_ar, level), _ends(over_exact, level)
    failed = plain.index.difference(own.index)
    return Finding(
        method=method,
        folder=plan.folder,
        n=len(over_ar),
        failed=len(asked) - len(own),
        level=level,
        speedup=ratio(over_ar["total_s_a"], over_ar["total_s_b"]),
        speedup_ends=faster,
        gain=ratio(over_exact["total_s_a"], over_exact["total_s_b"]),
        gain_ends=gained,
        judged=len(judged),
        solved=float(before.sum()),
        retention=None if kept is None else ratio(after, before),
        retention_ends=kept,
        pairs=Pairs.of(before, after) if len(judged) and not own["graded"].any() else None,
        length_ratio=ratio(over_ar["tokens_b"], over_ar["tokens_a"]),
        state="exact"
        if method.verify == EXACT
        else _state(faster, gained, retention_verdict(kept, margin), len(failed) > 0),
    )


def _state(
    faster: Interval | None, gained: Interval | None, kept: Retention, failed: bool
) -> State:
    """`faster` than AR, `gained` over the exact setting; one that `failed` where AR did not is
    never confirmed."""
    if kept == "lost":
        return "loses accuracy"
    if any(ends is not None and ends.high < 1 for ends in (faster, gained)):
        return "not faster"
    wins = all(ends is not None and ends.low > 1 for ends in (faster, gained))
    return "confirmed" if wins and kept == "kept" and not failed else "not resolved"


def _of(folder: RunFolder, method: str, asked: set[str]) -> pd.DataFrame:
    frame = sample_frame(folder, method)
    return frame[frame.index.isin(asked)]


def _joined(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    columns = ["total_s", "tokens", "correct"]
    return a[columns].join(b[columns], how="inner", lsuffix="_a", rsuffix="_b")


def _ends(pairs: pd.DataFrame, level: float) -> Interval | None:
    columns = pairs["total_s_a"], pairs["total_s_b"]
    return bootstrap(lambda a, b: a / b, *columns, level=level)
