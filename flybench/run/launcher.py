"""Run cells in this process, or in other processes or on other machines with Hydra's launchers.

    flybench run -m hydra/launcher=joblib task=gsm8k,humaneval method=spd,fly

Cells that differ only in their method form one job: a process that loads the models once and
decodes AR once for all methods. Every job runs in the command's working directory, which all
machines must share, and can be resumed like a run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from flybench.config import RunConfig, digest
from flybench.config.checks import suggestion
from flybench.config.compose import HYDRA, Cell, Request
from flybench.config.groups import conf_dir
from flybench.config.trees import readable_errors
from flybench.core.errors import FlybenchError
from flybench.distributed import rank, world_size

LAUNCHER = "hydra/launcher"
IN_PROCESS = "basic"


class LaunchResult(NamedTuple):
    """The exit code of some cells, the folders of the finished ones, and the failures of the
    others."""

    code: int
    folders: list[Path]
    failures: list[str]


def run_cells(cells: Sequence[Cell], argv: Sequence[str], plain: bool = False) -> LaunchResult:
    """Run cells, one after another, in this process; `plain` is that of `Progress`."""
    # The engine takes seconds to import, and errors of the launcher are reported before.
    from flybench.run.sweep import Sweep

    sweep = Sweep([cell.config for cell in cells], argv, plain)
    code = 0
    for cell in cells:
        if len(cells) > 1 and not rank():
            print(f"\n{cell.name}")
        code = max(code, sweep.run(cell.config))
    failed = [cell for cell in cells if cell.config in sweep.failures]
    failures = [f"{cell.name}: {sweep.failures[cell.config]}" for cell in failed]
    return LaunchResult(code, list(sweep.finished), failures)


def launcher_of(request: Request) -> str | None:
    """Return the launcher that a request names; None if its cells run in this process.

    Raises:
        FlybenchError: the launcher cannot run the request.
    """
    own = [override for override in request.overrides if override.group == HYDRA]
    chosen = [override.value for override in own if override.key == LAUNCHER]
    if not own or chosen[-1:] == [IN_PROCESS]:
        return None
    if not chosen:
        raise FlybenchError(
            f"{own[0].key} has no effect without a Hydra launcher: add {LAUNCHER}=NAME, or "
            "remove it."
        )
    if not request.multirun:
        raise FlybenchError(f"{LAUNCHER}={chosen[-1]} launches the jobs of a sweep: add -m.")
    if world_size() > 1:
        raise FlybenchError(
            f"{LAUNCHER}={chosen[-1]} under torchrun would launch every job once per rank: remove "
            "one of the two."
        )
    return chosen[-1]


def launch(
    request: Request,
    name: str,
    cells: Sequence[Cell],
    argv: Sequence[str],
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> LaunchResult:
    """Submit `cells` to the launcher `name` and wait for all of them.

    Every job runs inside `around`, which sets up its process, for example its log.

    Raises:
        FlybenchError: the launcher is not installed.
    """
    jobs = Jobs(group_into_jobs(cells), list(argv), around)
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None, "it was just initialised"
        _check_installed(name, hydra.config_loader.get_group_options(LAUNCHER))
        # Hydra only composes the settings of the launcher; a job has its own checked cells.
        firsts = [list(job[0].overrides) for job in jobs.jobs]
        overrides = [*firsts[0], *request.hydra_overrides, *request.search_path]
        with readable_errors():
            config = hydra.compose_config("config", overrides, run_mode=RunMode.MULTIRUN)
        context = HydraContext(hydra.config_loader, Callbacks(config))
        launcher = Plugins.instance().instantiate_launcher(context, jobs, config)
        returned: list[Any] = list(launcher.launch(firsts, initial_job_idx=0))
    results: list[LaunchResult] = [each.return_value for each in returned]
    codes, folders, failures = zip(*results, strict=True)
    return LaunchResult(max(codes), list(chain(*folders)), list(chain(*failures)))


def group_into_jobs(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Group cells into jobs; cells that may share AR or a folder belong to one job."""
    jobs: dict[str, list[Cell]] = {}
    for cell in cells:
        jobs.setdefault(_all_but_method(cell.config), []).append(cell)
    return list(jobs.values())


@dataclass(frozen=True)
class Jobs:
    """The function that each job calls, in its process, to run the cells of its number."""

    jobs: list[list[Cell]]
    argv: list[str]
    around: Callable[[], AbstractContextManager[None]] = nullcontext
    folder: Path = field(default_factory=Path.cwd)

    def __call__(self, tree: DictConfig) -> LaunchResult:
        os.chdir(self.folder)
        with self.around():
            return run_cells(self.jobs[HydraConfig.get().job.num], self.argv, plain=True)


def _all_but_method(config: RunConfig) -> str:
    identity = config.identity()
    del identity["method"]
    return digest([identity, config.out])


def _check_installed(name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise FlybenchError(
            f"{LAUNCHER}={name} is not installed: choose one of {', '.join(known)}"
            f"{suggestion(name, known)}, or install it, for example with "
            "`pip install 'flybench[joblib]'`, [submitit] or [ray]."
        )
