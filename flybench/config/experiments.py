"""Experiments: presets of several sweeps, such as the tables of a paper.

    flybench run -m experiment=paper_ood --dry-run

A file in `conf/experiment/` has a description and `sweeps`, each of which maps settings to values,
or to several separated by commas, as Hydra's `hydra.sweeper.params` do. What the command line says
too, it says for every sweep; a group that it chooses replaces a sweep's settings in that group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from flybench.config import RunConfig
from flybench.config.compose import Cell, Request, addable, combinations
from flybench.config.groups import files, read_yaml
from flybench.config.names import check_names, check_option
from flybench.config.overrides import Override
from flybench.core.errors import FlybenchError

GROUP = "experiment"


def expand(request: Request) -> list[Request]:
    """The sweeps of the experiments that a request names, itself if it names none.

    Raises:
        FlybenchError: an experiment is not known or malformed, or -m is missing.
    """
    named = [override.value for override in request.overrides if override.key == GROUP]
    if not named:
        return [request]
    own = [override for override in request.overrides if override.key != GROUP]
    sweeps = [sweep for name in named[-1].split(",") for sweep in _sweeps(name, request)]
    if not request.multirun:
        raise FlybenchError(
            f"{GROUP}={named[-1]} is many runs: add -m to run them all, and --dry-run to see them "
            "first."
        )
    expanded = [replace(request, overrides=list(_under(sweep, own))) for sweep in sweeps]
    for each in expanded:
        check_names(each.overrides, each.config_dir)
    return expanded


def distinct(requests: Sequence[Request]) -> list[Cell]:
    """The cells of all requests, without the repetitions that sweeps which cross make."""
    found: dict[RunConfig, Cell] = {}
    for request in requests:
        for cell in combinations(request):
            found.setdefault(cell.config, cell)
    return list(found.values())


def _under(sweep: dict[str, Any], own: Sequence[Override]) -> Iterator[Override]:
    """A sweep's overrides as far as the user's own leave them, then these."""
    taken = {override.key for override in own}
    for key, value in sweep.items():
        override = Override.parse(f"{key}={value}")
        if not {override.key, override.group} & taken:
            yield addable(override)
    yield from own


def _sweeps(name: str, request: Request) -> list[dict[str, Any]]:
    known = {file.stem: file for file in files(GROUP, request.config_dir)}
    check_option(GROUP, name, known)
    sweeps = read_yaml(known[name]).get("sweeps")
    if not sweeps or not isinstance(sweeps, list) or not all(isinstance(s, dict) for s in sweeps):
        raise FlybenchError(
            f"{known[name]} has no sweeps: write a list of them, each with key: value lines."
        )
    return sweeps
