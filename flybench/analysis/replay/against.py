"""Errors of replays against real runs of the same settings, on the samples that both have."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from flybench.analysis.replay.grid import recorded_config, replay, same_drafter
from flybench.config import MethodConfig, RunConfig
from flybench.core.errors import FlybenchError
from flybench.metrics.frames import round_frame
from flybench.records.folder import RunFolder

# Settings in which a run and a recording must agree.
EQUAL = ("model", "task", "engine", "sampling", "seed")


def against(
    folders: Sequence[RunFolder],
    runs: Sequence[RunFolder],
    cells: Sequence[MethodConfig] | None = None,
) -> pd.DataFrame:
    """Replay the settings of `runs` from `folders`, and return one row for each run.

    Only runs with a setting in `cells` count, if given. Rows are those of `replay` with `run`, the
    name of the run's folder; `n`, the number of samples that all finished; `tau_real`; and `error`,
    the replayed tau ÷ the real one − 1. Runs over the same samples are replayed together, which
    reads the traces once. A run that is one of `folders` is skipped.

    Raises:
        FlybenchError: a run is of another model, task, drafter or sampling, or shares no sample.
    """
    folder, config = folders[0], recorded_config(folders[0])
    answered = common_samples(folders)
    recorded = {each.path.resolve() for each in folders}
    allowed = None if cells is None else {(cell.verify, cell.k) for cell in cells}
    chosen: dict[frozenset[str], list[tuple[RunFolder, MethodConfig]]] = {}
    for run in (each for each in runs if each.path.resolve() not in recorded):
        real = _comparable(folder, config, run)
        if allowed is not None and (real.verify, real.k) not in allowed:
            continue
        common = _answered(folder) & _answered(run)
        samples = answered & {sample for sample, _ in common}
        if not samples:
            raise FlybenchError(
                f"{run.path} and {folder.path} have no finished sample in common: continue one of "
                "them, or choose another run."
            )
        chosen.setdefault(samples, []).append((run, real))
    if not chosen:
        raise FlybenchError(
            "every run after --against is a recording or has a setting outside the grid: omit the "
            "grid to replay the settings of these runs, or pass other runs."
        )
    tables = [_against(folders, part, samples) for samples, part in chosen.items()]
    return pd.concat(tables, ignore_index=True)


def common_samples(folders: Sequence[RunFolder]) -> frozenset[str]:
    """Return the samples that all recordings finished.

    Raises:
        FlybenchError: the recordings differ in model, task, drafter or sampling, or share no
            sample.
    """
    first = folders[0]
    config = recorded_config(first)
    for folder in folders[1:]:
        _comparable(first, config, folder)
    shared = set.intersection(*map(_answered, folders))
    if not shared:
        raise FlybenchError(
            f"{', '.join(str(folder.path) for folder in folders)} have no finished samples in "
            "common: resume them, or pass recordings of the same samples."
        )
    return frozenset(sample for sample, _ in shared)


def _against(
    folders: Sequence[RunFolder],
    runs: Sequence[tuple[RunFolder, MethodConfig]],
    samples: frozenset[str],
) -> pd.DataFrame:
    """Return one row for each of `runs` over the same samples, with its replay."""
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
    """Return the method of a run that differs from the recorded one only in its rule and K."""
    other = run.config()
    ours, theirs = config.identity(), other.identity()
    different = [name for name in EQUAL if ours[name] != theirs[name]]
    if not same_drafter(config.method, other.method):
        different.append("method.draft")
    if different:
        raise FlybenchError(
            f"{run.path} differs from {folder.path} in {', '.join(different)}: compare with runs "
            "that differ only in method.verify and method.k."
        )
    return other.method


def _answered(folder: RunFolder) -> set[tuple[str, str]]:
    """Return (sample, prompt hash) of every finished sample of a run's method."""
    method = recorded_config(folder).method.name
    return {
        (record.sample_id, record.prompt_sha256)
        for record in folder.records().values()
        if record.method == method and record.error is None
    }
