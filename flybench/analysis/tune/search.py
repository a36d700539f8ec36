"""From a recorded half of the samples to a few settings that are worth a real run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from flybench.analysis.replay.against import common_samples
from flybench.analysis.replay.grid import Column, replay
from flybench.analysis.replay.prices import Prices
from flybench.analysis.replay.rows import Bools
from flybench.analysis.tune.risk import Risk
from flybench.analysis.tune.settings import TuneSettings, method_of
from flybench.config import EXACT, MethodConfig, VerifyConfig
from flybench.metrics.frames import round_frame
from flybench.run.plan import Plan

# What a setting should have, and should not have.
GOOD, BAD = ["speedup"], ["risk", "opening"]


class Found(NamedTuple):
    """The best exact setting by projection, and loose ones that may be faster, the fastest first.

    `table` has a row for each method of the grid in its order: what `replay` tells, a projected
    `speedup`, `risk`, `opening`, the `lookup` of its draft, and whether it is on the `front`.
    """

    exact: MethodConfig
    loose: list[MethodConfig]
    methods: Sequence[MethodConfig]
    table: pd.DataFrame

    def row(self, method: MethodConfig) -> pd.Series:
        """The table's row of a method."""
        return self.table.iloc[self.methods.index(method)]


def recordings(settings: TuneSettings, base: MethodConfig) -> list[MethodConfig]:
    """What is recorded on the longest drafts: the exact rule with each drafter, and a loose rule,
    whose text is nearer to that of other loose ones."""
    drafters = settings.drafters(base)
    middle = sorted(settings.theta)[len(settings.theta) // 2]
    loose = VerifyConfig.of("fly", rule=settings.rule[0], theta=middle, window=min(settings.window))
    return [*drafters, method_of(drafters[0].draft, loose, max(settings.k))]


def search(
    recorded: Sequence[Plan], methods: Sequence[MethodConfig], latency: Path, count: int
) -> Found:
    """Replay `methods` over the runs of `recordings`, and pick `count` loose ones."""
    *drafters, loose = recorded
    base = drafters[0]
    columns: list[Column] = [
        Prices(base.folder, latency, shares=_shares(drafters)),
        Risk(base.chat.detokenize),
    ]
    folders = [base.folder, loose.folder]
    table = replay(folders, methods, common_samples(folders), columns)
    table = table.assign(
        method=[method.name for method in methods],
        lookup=[method.draft.kind == "nested" for method in methods],
        front=front(table),
    )
    exact = np.array([method.verify == EXACT for method in methods])
    speedups = table["speedup"].to_numpy(float)
    best = int(np.where(exact, speedups, -np.inf).argmax())
    picked = _picked(table[~exact & table["front"]], speedups[best], count)
    return Found(methods[best], [methods[number] for number in picked], methods, table)


def front(table: pd.DataFrame) -> Bools:
    """Rows than which no other is better in one figure and as good in the others [n]; of equal ones
    the first."""
    costs = np.column_stack([-table[GOOD].to_numpy(float), table[BAD].to_numpy(float)])
    as_good = (costs[:, None] <= costs[None]).all(2)
    better = (costs[:, None] < costs[None]).any(2)
    beaten = np.asarray((as_good & better).any(0))
    return ~beaten & ~table[GOOD + BAD].duplicated().to_numpy()


def _picked(loose: pd.DataFrame, bar: float, count: int) -> list[int]:
    """The fastest, and the least risky ones that keep a part of its gain over `bar`."""
    faster = loose[loose["speedup"] > bar]
    if faster.empty:
        return []
    top = faster["speedup"].max()
    highest = faster[BAD].max().replace(0, 1)
    harm = (faster[BAD] / highest).sum(axis=1)
    least = (top - (top - bar) * n / count for n in range(count))
    picked = [int(harm[faster["speedup"] >= speed].idxmin()) for speed in least]
    return list(dict.fromkeys(picked))


def _shares(drafters: Sequence[Plan]) -> dict[str, float]:
    """Seconds of a drafted token by drafter, over those of the draft model alone: what looking up
    leaves of them."""
    taken = {}
    for plan in drafters:
        rounds = round_frame(plan.folder, plan.config.method.name)
        taken[plan.config.method.draft.kind] = rounds["draft_s"].sum() / rounds["drafted"].sum()
    alone = taken.get("model")
    return {} if alone is None else {kind: each / alone for kind, each in taken.items()}
