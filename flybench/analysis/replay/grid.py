"""Replays of a run at many settings, one row each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from flybench.analysis.replay.blend import blended
from flybench.analysis.replay.drafts import Continued
from flybench.analysis.replay.rows import Rows, read_rows
from flybench.analysis.replay.walk import Rounds, walk
from flybench.config import DRAFT_MODEL_KINDS, MethodConfig, RunConfig
from flybench.core.errors import FlybenchError
from flybench.core.outcomes import Outcome
from flybench.records.folder import RunFolder

TOLD = (Outcome.EXACT, Outcome.LOOSE, Outcome.GATE, Outcome.WINDOW, Outcome.TAIL, Outcome.REJECTED)


Column = Callable[[MethodConfig, Rounds, Rows], dict[str, Any]]
"""More figures of a method, from its rounds over the recorded rows."""


def replay(
    folders: Sequence[RunFolder],
    methods: Sequence[MethodConfig],
    samples: Collection[str] | None = None,
    columns: Sequence[Column] = (),
) -> pd.DataFrame:
    """What each of `methods` would have accepted of recorded drafts, a row each and in order.

    Of a method its verification and `k` count; its drafter must be that of the recorded runs, which
    are of the same samples and blend into one estimate. Columns: `kind`, `rule`, `theta`, `window`,
    `k`; `tokens`, `rounds`, `tau` (pooled), `loose_per_1000`, a count for each of the fates `TOLD`,
    `fate_exact` and so on; `guessed`, the share of visited tokens that no trace holds, and
    `strayed`, the share of rounds that left the recorded text; then those of `columns`, such as
    `Prices`. `samples` restricts all of it to some of the runs'.

    Raises:
        FlybenchError: a run is not greedy or of trees, lacks traces, or the costs do not fit.
    """
    with tqdm(
        total=len(methods) * len(folders), desc="replay", unit="cell", leave=False, disable=None
    ) as bar:
        return blended([_replayed(folder, methods, samples, columns, bar) for folder in folders])


def _replayed(
    folder: RunFolder,
    methods: Sequence[MethodConfig],
    samples: Collection[str] | None,
    columns: Sequence[Column],
    bar: tqdm[Any],
) -> pd.DataFrame:
    config = recorded_config(folder)
    for method in methods:
        _check_drafter(config.method, method)
    rows = read_rows(folder, config.method.name, config.method.k, samples)
    continued = Continued(rows)
    found: dict[int, dict[str, Any]] = {}
    for k in dict.fromkeys(method.k for method in methods):
        drafts = continued.drafts(k)
        for number, method in enumerate(methods):
            if method.k == k:
                rounds = walk(continued, drafts, method)
                found[number] = {**_setting(method), **_counts(rounds)}
                for column in columns:
                    found[number] |= column(method, rounds, rows)
                bar.update()
    return pd.DataFrame([found[number] for number in range(len(methods))])


def recorded_config(folder: RunFolder) -> RunConfig:
    """The configuration of a run that can be replayed.

    Raises:
        FlybenchError: it drew its tokens, drafted trees, or drafted nothing.
    """
    config = folder.config()
    method = config.method
    if method.draft.kind == "none" or method.draft.grows_trees:
        raise FlybenchError(
            f"{folder.path} is a run of method {method.name}, which drafts no chains: replay one "
            "of method=spd or method=fly with record.traces=true."
        )
    if not config.sampling.rule().greedy:
        raise FlybenchError(
            f"{folder.path} has sampling.temperature={config.sampling.temperature:g}, and only "
            "greedy runs can be replayed: record one with sampling=greedy."
        )
    return config


def same_drafter(one: MethodConfig, other: MethodConfig) -> bool:
    """Whether two greedy methods propose the same tokens: looking up speeds a draft model up and
    changes none of its choices."""
    models = {one.draft.kind, other.draft.kind} <= {*DRAFT_MODEL_KINDS}
    return models or one.draft == other.draft


def _check_drafter(recorded: MethodConfig, method: MethodConfig) -> None:
    if not same_drafter(recorded, method):
        raise FlybenchError(
            f"method.draft.kind={method.draft.kind} cannot be replayed from a run whose drafter is "
            f"{recorded.draft.kind} with other settings: record a run of that drafter."
        )


def _setting(method: MethodConfig) -> dict[str, Any]:
    known = method.verify.tree()
    del known["at_temperature"]  # only greedy runs are replayed
    return {**known, "k": method.k}


def _counts(rounds: Rounds) -> dict[str, Any]:
    tokens, visited = int(rounds.emitted.sum()), np.bincount(rounds.outcomes.ravel(), minlength=8)
    return {
        "tokens": tokens,
        "rounds": len(rounds.emitted),
        "tau": tokens / len(rounds.emitted),
        "loose_per_1000": 1000 * float(rounds.loose.sum()) / tokens,
        **{f"fate_{outcome.name.lower()}": int(visited[outcome]) for outcome in TOLD},
        "guessed": float(rounds.guessed.sum() / max(visited[1:].sum(), 1)),
        "strayed": float(rounds.strayed.mean()),
    }
