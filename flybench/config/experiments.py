"""Experiments: presets of one or more sweeps, such as the tables of a paper.

    flybench run -m experiment=paper_ood --dry-run

A file in `conf/experiment/` has a description and a list of `sweeps`. Each sweep maps settings to
a value, or to several values separated by commas, like Hydra's `hydra.sweeper.params`. Overrides
on the command line apply to every sweep. A group chosen there replaces a sweep's settings of that
group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from flybench.config import RunConfig
from flybench.config.compose import Cell, Request, combinations, hydra_override
from flybench.config.groups import files, read_yaml
from flybench.config.override_checks import check_names, check_option
from flybench.config.overrides import Override
from flybench.core.errors import FlybenchError

GROUP = "experiment"


def expand(request: Request) -> list[Request]:
    """Return one request per sweep of the experiments named, or the request itself without one.

    Raises:
        FlybenchError: an experiment is unknown or malformed, or -m is missing.
    """
    named = [override.value for override in request.overrides if override.key == GROUP]
    if not named:
        return [request]
    own = [override for override in request.overrides if override.key != GROUP]
    sweeps = [sweep for name in named[-1].split(",") for sweep in _sweeps(name, request)]
    if not request.multirun:
        raise FlybenchError(
            f"{GROUP}={named[-1]} has several runs: add -m to run them all, or -m --dry-run to "
            "list them."
        )
    expanded = [replace(request, overrides=list(_under(sweep, own))) for sweep in sweeps]
    for each in expanded:
        check_names(each.overrides, each.config_dir)
    return expanded


def distinct(requests: Sequence[Request]) -> list[Cell]:
    """Return the cells of all requests without duplicates."""
    found: dict[RunConfig, Cell] = {}
    for request in requests:
        for cell in combinations(request):
            found.setdefault(cell.config, cell)
    return list(found.values())


def _under(sweep: dict[str, Any], own: Sequence[Override]) -> Iterator[Override]:
    """Yield the overrides of a sweep that the user's do not replace, then the user's."""
    taken = {override.key for override in own}
    for key, value in sweep.items():
        override = Override.parse(f"{key}={value}")
        if not {override.key, override.group} & taken:
            yield hydra_override(override)
    yield from own


def _sweeps(name: str, request: Request) -> list[dict[str, Any]]:
    known = {file.stem: file for file in files(GROUP, request.config_dir)}
    check_option(GROUP, name, known)
    sweeps = read_yaml(known[name]).get("sweeps")
    if not sweeps or not isinstance(sweeps, list) or not all(isinstance(s, dict) for s in sweeps):
        raise FlybenchError(
            f"{known[name]} has no sweeps: add a list of sweeps, each with key: value lines."
        )
    return sweeps
