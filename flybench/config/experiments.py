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
from flybench.config.checks import suggestion
from flybench.config.compose import Cell, Request, addable, combinations
from flybench.config.groups import files, read_yaml
from flybench.core.errors import FlybenchError

GROUP = "experiment"


def expand(request: Request) -> list[Request]:
    """The sweeps of the experiments that a request names, itself if it names none.

    Raises:
        FlybenchError: an experiment is not known or malformed, or -m is missing.
    """
    named = [value for key, value in map(_parts, request.overrides) if key == GROUP]
    if not named:
        return [request]
    own = [override for override in request.overrides if _parts(override)[0] != GROUP]
    sweeps = [sweep for name in named[-1].split(",") for sweep in _sweeps(name, request)]
    if not request.multirun:
        raise FlybenchError(
            f"{GROUP}={named[-1]} is many runs: add -m to run them all, and --dry-run to see them "
            "first."
        )
    return [replace(request, overrides=list(_under(sweep, own))) for sweep in sweeps]


def distinct(requests: Sequence[Request]) -> list[Cell]:
    """The cells of all requests, without the repetitions that sweeps which cross make."""
    found: dict[RunConfig, Cell] = {}
    for request in requests:
        for cell in combinations(request):
            found.setdefault(cell.config, cell)
    return list(found.values())


def _under(sweep: dict[str, Any], own: Sequence[str]) -> Iterator[str]:
    """A sweep's overrides as far as the user's own leave them, then these."""
    taken = {_parts(override)[0] for override in own}
    for key, value in sweep.items():
        if not {key, key.partition(".")[0]} & taken:
            yield addable(f"{key}={value}")
    yield from own


def _parts(override: str) -> tuple[str, str]:
    key, _, value = override.partition("=")
    return key.lstrip("+~"), value


def _sweeps(name: str, request: Request) -> list[dict[str, Any]]:
    known = {file.stem: file for file in files(GROUP, request.config_dir)}
    if name not in known:
        raise FlybenchError(
            f"{GROUP}={name} does not exist: choose one of {', '.join(known)}"
            f"{suggestion(name, known)}."
        )
    sweeps = read_yaml(known[name]).get("sweeps")
    if not sweeps or not isinstance(sweeps, list) or not all(isinstance(s, dict) for s in sweeps):
        raise FlybenchError(
            f"{known[name]} has no sweeps: write a list of them, each with key: value lines."
        )
    return sweeps
