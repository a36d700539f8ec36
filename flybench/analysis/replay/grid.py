"""Replays of a run at many settings, with one row for each setting."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from flybench.analysis.replay.blend import blended
from flybench.analysis.replay.drafts import ImputedRows
from flybench.analysis.replay.traced_rows import Rows, read_rows
from flybench.analysis.replay.walk import Rounds, walk
from flybench.config import DRAFT_MODEL_KINDS, MethodConfig, RunConfig, VerifyConfig
from flybench.core.errors import FlybenchError
from flybench.core.outcomes import Outcome
from flybench.records.folder import RunFolder

COUNTED = (
    Outcome.EXACT,
    Outcome.LOOSE,
    Outcome.GATE,
    Outcome.WINDOW,
    Outcome.TAIL,
    Outcome.REJECTED,
)


Column = Callable[[MethodConfig, Rounds, Rows], dict[str, Any]]
"""A function that returns more columns for a method, from its replayed rounds."""


def replay(
    folders: Sequence[RunFolder],
    methods: Sequence[MethodConfig],
    samples: Collection[str] | None = None,
    columns: Sequence[Column] = (),
) -> pd.DataFrame:
    """Replay each of `methods` over recorded drafts, and return one row for each, in order.

    Methods differ in their rule and `k`; the drafter must be that of the recorded runs. The runs
    are of the same samples and are combined into one estimate. `samples` selects some of them.

    Columns:
        - `kind`, `k`, and a column for every setting of a rule; `setting`: those of the row's rule.
        - `tokens`, `rounds`, `tau` (pooled) and `loose_per_1000`.
        - `fate_exact` and so on: the number of draft tokens by outcome, for those in `COUNTED`.
        - `guessed`: the share of reached tokens that are imputed, because no trace has them.
        - `strayed`: the share of rounds that diverged from the recorded text.
        - The columns of `columns`, such as `ProjectedSpeedups`.

    Raises:
        FlybenchError: a run is not greedy, drafts trees or lacks traces, or the costs do not fit.
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
    imputed_rows = ImputedRows(rows)
    found: dict[int, dict[str, Any]] = {}
    for k in dict.fromkeys(method.k for method in methods):
        drafts = imputed_rows.drafts(k)
        for number, method in enumerate(methods):
            if method.k == k:
                rounds = walk(imputed_rows, drafts, method)
                found[number] = {**_setting(method), **_counts(rounds)}
                for column in columns:
                    found[number] |= column(method, rounds, rows)
                bar.update()
    return pd.DataFrame([found[number] for number in range(len(methods))])


def recorded_config(folder: RunFolder) -> RunConfig:
    """Return the configuration of a run, after checking that the run can be replayed.

    Raises:
        FlybenchError: the run sampled its tokens, drafted trees, or drafted nothing.
    """
    config = folder.config()
    method = config.method
    if method.draft.kind == "none" or method.draft.grows_trees:
        raise FlybenchError(
            f"{folder.path} was run with method {method.name}, which does not draft chains: replay "
            "a run of method=spd or method=fly with record.traces=true."
        )
    if not config.sampling.rule().greedy:
        raise FlybenchError(
            f"{folder.path} has sampling.temperature={config.sampling.temperature:g}, and only "
            "greedy runs can be replayed: record one with sampling=greedy."
        )
    return config


def same_drafter(one: MethodConfig, other: MethodConfig) -> bool:
    """Return whether two greedy methods propose the same tokens.

    Lookup makes a draft model faster and does not change its tokens.
    """
    models = {one.draft.kind, other.draft.kind} <= {*DRAFT_MODEL_KINDS}
    return models or one.draft == other.draft


def _check_drafter(recorded: MethodConfig, method: MethodConfig) -> None:
    if not same_drafter(recorded, method):
        raise FlybenchError(
            f"method.draft.kind={method.draft.kind} cannot be replayed from a run with drafter "
            f"{recorded.draft.kind} or other drafter settings: record a run with that drafter."
        )


def _setting(method: MethodConfig) -> dict[str, Any]:
    known = method.verify.tree()
    del known["at_temperature"]  # only greedy runs are replayed
    return {**known, "k": method.k, "setting": _short(method.verify)}


def _short(verify: VerifyConfig) -> str:
    """Return a rule and its settings for a table; a user's rule goes by its class."""
    return f"{verify.kind.rsplit(':', 1)[-1]} {verify.shown()}".strip()


def _counts(rounds: Rounds) -> dict[str, Any]:
    tokens, visited = int(rounds.emitted.sum()), np.bincount(rounds.outcomes.ravel(), minlength=8)
    return {
        "tokens": tokens,
        "rounds": len(rounds.emitted),
        "tau": tokens / len(rounds.emitted),
        "loose_per_1000": 1000 * float(rounds.loose.sum()) / tokens,
        **{f"fate_{outcome.name.lower()}": int(visited[outcome]) for outcome in COUNTED},
        "guessed": float(rounds.imputed.sum() / max(visited[1:].sum(), 1)),
        "strayed": float(rounds.diverged.mean()),
    }
