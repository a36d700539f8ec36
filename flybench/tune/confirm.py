"""Real runs of the candidates on the other half of the samples, until intervals decide.

All methods and AR answer every sample side by side. The samples grow from look to look; a loose
setting that is decided at one is not decoded any further. Intervals are so wide that all looks at
all candidates hold together at 95 % (Bonferroni), since whoever looks often enough sees something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

import pandas as pd

from flybench.config import MethodConfig, RunConfig
from flybench.few import FEWEST
from flybench.frames import sample_frame
from flybench.plan import Plan
from flybench.records import RunFolder
from flybench.stats import (
    Interval,
    Pairs,
    bootstrap,
    ratio,
    retention_interval,
    retention_verdict,
)
from flybench.tune.cells import Cells
from flybench.tune.settings import EXACT, TuneSettings

State = Literal["lossless", "confirmed", "loses accuracy", "not faster", "not resolved"]


@dataclass(frozen=True)
class Finding:
    """What `n` samples say of a method: `state` is that of a loose one beside the exact one.

    `speedup` is AR's time to answer over the method's, `gain` the exact method's over it; `pairs`
    and `retention` are of judged answers. Intervals are of `level`; None where there is no figure.
    """

    method: MethodConfig
    folder: RunFolder
    n: int
    level: float
    speedup: float | None
    speedup_ends: Interval | None
    gain: float | None
    gain_ends: Interval | None
    retention: float | None
    retention_ends: Interval | None
    pairs: Pairs | None
    length_ratio: float | None
    state: State


def confirm(
    cells: Cells,
    config: RunConfig,
    exact: MethodConfig,
    loose: Sequence[MethodConfig],
    samples: int,
    settings: TuneSettings,
) -> list[Finding]:
    """Decode up to `samples` samples of `config` by every method; findings, the exact one's first.

    Raises:
        FlybenchError: a method's run failed.
    """
    level = 1 - 0.05 / (settings.looks * max(len(loose), 1))
    found: dict[MethodConfig, Finding] = {}
    alive = list(loose)
    for size in sizes(samples, settings.looks):
        asked = [replace(config, method=method, limit=size) for method in (exact, *alive)]
        plain, *methods = cells.run(asked)
        for plan in (plain, *methods):
            found[plan.config.method] = finding(plan, plain, level)
        alive = [method for method in alive if found[method].state == "not resolved"]
        if loose and not alive:
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
    graded = bool(own["graded"].any())
    # Where AR solved next to nothing there is nothing to keep.
    ends = retention_interval(before, after, level) if before.sum() >= FEWEST else None
    gain_ends = _ends(over_exact, level)
    return Finding(
        method=method,
        folder=plan.folder,
        n=len(over_ar),
        level=level,
        speedup=ratio(over_ar["total_s_a"], over_ar["total_s_b"]),
        speedup_ends=_ends(over_ar, level),
        gain=ratio(over_exact["total_s_a"], over_exact["total_s_b"]),
        gain_ends=gain_ends,
        retention=None if ends is None else ratio(after, before),
        retention_ends=ends,
        pairs=Pairs.of(before, after) if len(judged) and not graded else None,
        length_ratio=ratio(over_ar["tokens_b"], over_ar["tokens_a"]),
        state="lossless" if method.verify == EXACT else _state(gain_ends, ends, margin),
    )


def _state(gain: Interval | None, retention: Interval | None, margin: float) -> State:
    kept = retention_verdict(retention, margin)
    if kept == "lost":
        return "loses accuracy"
    if gain is not None and gain.high < 1:
        return "not faster"
    faster = gain is not None and gain.low > 1
    return "confirmed" if faster and kept == "kept" else "not resolved"


def _of(folder: RunFolder, method: str, asked: set[str]) -> pd.DataFrame:
    frame = sample_frame(folder, method)
    return frame[frame.index.isin(asked)]


def _joined(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    columns = ["total_s", "tokens", "correct"]
    return a[columns].join(b[columns], how="inner", lsuffix="_a", rsuffix="_b")


def _ends(pairs: pd.DataFrame, level: float) -> Interval | None:
    columns = pairs["total_s_a"], pairs["total_s_b"]
    return bootstrap(lambda a, b: a / b, *columns, level=level)
