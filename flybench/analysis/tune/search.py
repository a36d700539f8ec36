"""Selection of a few candidate settings by replays over the recorded half of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from flybench.analysis.replay.against import common_samples
from flybench.analysis.replay.grid import Column, replay
from flybench.analysis.replay.speedups import ProjectedSpeedups
from flybench.analysis.replay.traced_rows import Bools
from flybench.analysis.tune.risk import Risk
from flybench.analysis.tune.search_space import TuneSettings, method_of
from flybench.config import EXACT, MethodConfig, VerifyConfig
from flybench.metrics.frames import round_frame
from flybench.run.plan import Plan

# Columns to maximise and to minimise.
MAXIMISED, MINIMISED = ["speedup"], ["risk", "opening"]


class SearchResult(NamedTuple):
    """The fastest exact setting by projection, and candidate loose settings, the fastest first.

    `table` has one row for each of `methods`, in order: the columns of `replay`, the projected
    `speedup`, `risk`, `opening`, `lookup`, and whether the row is on the Pareto `front`.
    """

    exact: MethodConfig
    loose: list[MethodConfig]
    methods: Sequence[MethodConfig]
    table: pd.DataFrame

    def row(self, method: MethodConfig) -> pd.Series:
        """Return the row of a method."""
        return self.table.iloc[self.methods.index(method)]


def recordings(settings: TuneSettings, base: MethodConfig) -> list[MethodConfig]:
    """Return the methods to record, with the longest drafts.

    They are the exact rule with each drafter, and one loose rule, whose text is closer to that of
    other loose rules.
    """
    drafters = settings.drafters(base)
    middle = sorted(settings.theta)[len(settings.theta) // 2]
    loose = VerifyConfig.of("fly", rule=settings.rule[0], theta=middle, window=min(settings.window))
    return [*drafters, method_of(drafters[0].draft, loose, max(settings.k))]


def search(
    recorded: Sequence[Plan], methods: Sequence[MethodConfig], latency: Path, count: int
) -> SearchResult:
    """Replay `methods` over the runs of `recordings`, and select up to `count` loose ones."""
    *drafters, loose = recorded
    base = drafters[0]
    columns: list[Column] = [
        ProjectedSpeedups(base.folder, latency, shares=_shares(drafters)),
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
    return SearchResult(methods[best], [methods[number] for number in picked], methods, table)


def front(table: pd.DataFrame) -> Bools:
    """Return a mask of the rows on the Pareto front [n]; of equal rows, only the first is on it."""
    costs = np.column_stack([-table[MAXIMISED].to_numpy(float), table[MINIMISED].to_numpy(float)])
    as_good = (costs[:, None] <= costs[None]).all(2)
    better = (costs[:, None] < costs[None]).any(2)
    dominated = np.asarray((as_good & better).any(0))
    return ~dominated & ~table[MAXIMISED + MINIMISED].duplicated().to_numpy()


def _picked(loose: pd.DataFrame, bar: float, count: int) -> list[int]:
    """Return the fastest row, and the least risky rows that keep a part of its gain over `bar`."""
    faster = loose[loose["speedup"] > bar]
    if faster.empty:
        return []
    top = faster["speedup"].max()
    highest = faster[MINIMISED].max().replace(0, 1)
    harm = (faster[MINIMISED] / highest).sum(axis=1)
    least = (top - (top - bar) * n / count for n in range(count))
    picked = [int(harm[faster["speedup"] >= speed].idxmin()) for speed in least]
    return list(dict.fromkeys(picked))


def _shares(drafters: Sequence[Plan]) -> dict[str, float]:
    """Return the seconds per draft token by kind of drafter, ÷ those of the draft model.

    Lookup makes the share smaller than 1.
    """
    seconds = {}
    for plan in drafters:
        rounds = round_frame(plan.folder, plan.config.method.name)
        seconds[plan.config.method.draft.kind] = rounds["draft_s"].sum() / rounds["drafted"].sum()
    model = seconds.get("model")
    return {} if model is None else {kind: each / model for kind, each in seconds.items()}
