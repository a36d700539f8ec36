"""How far replays are from real runs of the same settings, on the samples that both have."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from flybench.compose import read_yaml
from flybench.config import MethodConfig, RunConfig
from flybench.core import FlybenchError
from flybench.frames import round_frame
from flybench.records import RunFolder
from flybench.replay.grid import recorded_config, replay, same_drafter

UNLIKE = ("model", "task", "engine", "sampling", "seed")


def against(
    folder: RunFolder, runs: Sequence[RunFolder], cells: Sequence[MethodConfig] | None = None
) -> pd.DataFrame:
    """The replay of `folder` beside each of `runs` whose setting is one of `cells`, or of any.

    Rows are those of `replay` with `run`, the run's folder, `n`, the samples that both finished,
    `tau_real`, and `error`, the replayed tau ÷ the real one − 1.

    Raises:
        FlybenchError: a run is of another model, task, drafter or sampling, or shares no sample.
    """
    config = recorded_config(folder)
    wanted = None if cells is None else {(cell.verify, cell.k) for cell in cells}
    found = []
    for run in runs:
        real = _comparable(folder, config, run)
        if wanted is not None and (real.verify, real.k) not in wanted:
            continue
        shared = _answered(folder, config.method.name) & _answered(run, real.name)
        samples = {sample for sample, _ in shared}
        if not samples:
            raise FlybenchError(
                f"{run.path} and {folder.path} have no finished sample in common: continue one of "
                "them, or choose another run."
            )
        rounds = round_frame(run, real.name)
        rounds = rounds[rounds["sample_id"].isin(samples)]
        tau = float(rounds["emitted"].sum() / len(rounds))
        row = replay(folder, [real], samples=samples)
        row = row.assign(run=run.path.name, n=len(samples), tau_real=tau)
        found.append(row.assign(error=row["tau"] / tau - 1))
    if not found:
        raise FlybenchError(
            "none of the runs after --against has a setting of the grid: leave the grid out to "
            "replay the settings of the runs."
        )
    return pd.concat(found, ignore_index=True)


def _comparable(folder: RunFolder, config: RunConfig, run: RunFolder) -> MethodConfig:
    """The method of a run that differs from the recorded one in its verdicts and K alone."""
    other = RunConfig.from_tree(read_yaml(run.config_file))
    ours, theirs = config.identity(), other.identity()
    unlike = [name for name in UNLIKE if ours[name] != theirs[name]]
    if not same_drafter(config.method, other.method):
        unlike.append("method.draft")
    if unlike:
        raise FlybenchError(
            f"{run.path} is unlike {folder.path} in {', '.join(unlike)}: compare with runs that "
            "differ in method.verify and method.k alone."
        )
    return other.method


def _answered(folder: RunFolder, method: str) -> set[tuple[str, str]]:
    return {
        (record.sample_id, record.prompt_sha256)
        for record in folder.records().values()
        if record.method == method and record.error is None
    }
