"""How far replays are from real runs of the same settings, on the samples that both have."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from flybench.analysis.replay.grid import recorded_config, replay, same_drafter
from flybench.config import MethodConfig, RunConfig
from flybench.core.errors import FlybenchError
from flybench.metrics.frames import round_frame
from flybench.records.folder import RunFolder

UNLIKE = ("model", "task", "engine", "sampling", "seed")


def against(
    folders: Sequence[RunFolder],
    runs: Sequence[RunFolder],
    cells: Sequence[MethodConfig] | None = None,
) -> pd.DataFrame:
    """The replay of `folders` beside each of `runs` whose setting is one of `cells`, or of any.

    Rows are those of `replay` with `run`, the run's folder, `n`, the samples that all finished,
    `tau_real`, and `error`, the replayed tau ÷ the real one − 1. Runs over the same samples are
    replayed together, which reads the traces once; one of `folders` itself is passed over.

    Raises:
        FlybenchError: a run is of another model, task, drafter or sampling, or shares no sample.
    """
    folder, config = folders[0], recorded_config(folders[0])
    answered = common_samples(folders)
    recorded = {each.path.resolve() for each in folders}
    wanted = None if cells is None else {(cell.verify, cell.k) for cell in cells}
    chosen: dict[frozenset[str], list[tuple[RunFolder, MethodConfig]]] = {}
    for run in (each for each in runs if each.path.resolve() not in recorded):
        real = _comparable(folder, config, run)
        if wanted is not None and (real.verify, real.k) not in wanted:
            continue
        asked = _answered(folder) & _answered(run)
        samples = answered & {sample for sample, _ in asked}
        if not samples:
            raise FlybenchError(
                f"{run.path} and {folder.path} have no finished sample in common: continue one of "
                "them, or choose another run."
            )
        chosen.setdefault(samples, []).append((run, real))
    if not chosen:
        raise FlybenchError(
            "none of the runs after --against has a setting of the grid, or all are recordings: "
            "leave the grid out to replay the settings of the runs, and give other runs."
        )
    found = [_beside(folders, part, samples) for samples, part in chosen.items()]
    return pd.concat(found, ignore_index=True)


def common_samples(folders: Sequence[RunFolder]) -> frozenset[str]:
    """The samples that all recordings finished, which blend into one estimate.

    Raises:
        FlybenchError: they are of other models, tasks, drafters or sampling, or share no sample.
    """
    first = folders[0]
    config = recorded_config(first)
    for folder in folders[1:]:
        _comparable(first, config, folder)
    shared = set.intersection(*map(_answered, folders))
    if not shared:
        raise FlybenchError(
            f"{', '.join(str(folder.path) for folder in folders)} have no finished sample in "
            "common: continue them, or give recordings of the same samples."
        )
    return frozenset(sample for sample, _ in shared)


def _beside(
    folders: Sequence[RunFolder],
    runs: Sequence[tuple[RunFolder, MethodConfig]],
    samples: frozenset[str],
) -> pd.DataFrame:
    """Runs over the same samples beside their replays, a row each."""
    table = replay(folders, [method for _, method in runs], samples)
    frames = (round_frame(run, method.name) for run, method in runs)
    rounds = [frame[frame["sample_id"].isin(samples)]["emitted"] for frame in frames]
    table = table.assign(
        run=[run.path.name for run, _ in runs],
        n=len(samples),
        tau_real=[float(emitted.sum() / len(emitted)) for emitted in rounds],
    )
    return table.assign(error=table["tau"] / table["tau_real"] - 1)


def _comparable(folder: RunFolder, config: RunConfig, run: RunFolder) -> MethodConfig:
    """The method of a run that differs from the recorded one in its verdicts and K alone."""
    other = run.config()
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


def _answered(folder: RunFolder) -> set[tuple[str, str]]:
    """Finished samples of a run's method, and what they asked."""
    method = recorded_config(folder).method.name
    return {
        (record.sample_id, record.prompt_sha256)
        for record in folder.records().values()
        if record.method == method and record.error is None
    }
