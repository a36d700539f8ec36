"""Compose command-line overrides into checked run configurations.

`conf/` ships with flybench; `--config-dir DIR` adds a folder with the same layout. Every cell of a
sweep is composed and checked before the first one runs. Unknown settings and options are rejected
before Hydra is imported, because importing it takes most of a second.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from flybench.config import JudgeConfig, RunConfig
from flybench.config.checks import build
from flybench.config.groups import CHOICES, GROUPS, files
from flybench.config.override_checks import check_names
from flybench.config.overrides import Override
from flybench.core.errors import FlybenchError

HYDRA = "hydra"


@dataclass(frozen=True)
class Request:
    """The overrides of a `flybench run` command, and how to compose them."""

    overrides: list[Override]
    multirun: bool
    config_dir: Path | None

    @property
    def hydra_overrides(self) -> list[str]:
        """Overrides of Hydra itself, such as `hydra/launcher=slurm`."""
        return [each.text for each in self.overrides if each.group == HYDRA]

    @property
    def task_overrides(self) -> list[str]:
        """Overrides of run settings."""
        return [each.text for each in self.overrides if each.group != HYDRA]

    @property
    def search_path(self) -> list[str]:
        """The override of Hydra's search path that adds the user's folder."""
        directory = self.config_dir
        return [] if directory is None else [f"hydra.searchpath=[file://{directory}]"]


class Cell(NamedTuple):
    """One combination of a sweep, and the overrides that select it."""

    config: RunConfig
    overrides: tuple[str, ...]

    @property
    def name(self) -> str:
        """The overrides as the user typed them."""
        return " ".join(override.lstrip("+") for override in self.overrides)


def add_config_dir(parser: argparse.ArgumentParser) -> None:
    """Add the option shared by all verbs that read `conf/`."""
    parser.add_argument(
        "--config-dir",
        type=Path,
        metavar="DIR",
        help="a folder of your own files, with the layout of conf/",
    )


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options shared by all verbs that compose runs."""
    parser.add_argument(
        "-m",
        "--multirun",
        action="store_true",
        help="run every combination of comma-separated values, or the presets of experiment=NAME",
    )
    add_config_dir(parser)


def parse_request(words: Sequence[str]) -> Request:
    """Parse the arguments of a command that composes runs.

    Raises:
        FlybenchError: an argument is neither an option nor key=value, or is not a setting.
    """
    parser = argparse.ArgumentParser("flybench run", add_help=False, exit_on_error=False)
    add_run_options(parser)
    known, rest = parser.parse_known_args(list(words))
    for word in rest:
        if "=" not in word:
            raise FlybenchError(f"{word!r} is not key=value: see `flybench run --help`.")
    return make_request([Override.parse(word) for word in rest], known.multirun, known.config_dir)


def make_request(
    overrides: Sequence[Override], multirun: bool = False, config_dir: Path | None = None
) -> Request:
    """Return a request after checking that its settings and options exist.

    Hydra would reject a setting that a group's file does not contain. It is added instead, because
    `RunConfig` knows every setting and reports a better error.

    Raises:
        FlybenchError: a setting, an option or the folder does not exist, or a file in the folder
            has the name of a built-in one.
    """
    if config_dir is not None and not config_dir.is_dir():
        raise FlybenchError(f"--config-dir {config_dir} is not a folder: check the path.")
    directory = None if config_dir is None else config_dir.resolve()
    for group in CHOICES:
        files(group, directory)  # raises if a name is taken
    keys = {override.key for override in overrides}
    own = list(overrides)
    if "model.target.path" in keys and "model" not in keys:
        own = [Override.parse("model=local"), *own]
    check_names(own, directory)
    return Request([hydra_override(override) for override in own], multirun, directory)


def hydra_override(override: Override) -> Override:
    """Return an override that Hydra accepts even if the group's file lacks the setting."""
    chosen = override.key.partition("@")[0] in GROUPS
    if chosen or override.group == HYDRA or override.text[0] in "+~":
        return override
    return override._replace(text=f"++{override.text}")


def cells(request: Request) -> list[RunConfig]:
    """Return the composed and checked configuration of every combination of a request.

    Raises:
        FlybenchError: one of them cannot be composed or is invalid.
    """
    return [cell.config for cell in combinations(request)]


def combinations(request: Request) -> list[Cell]:
    """Return the cells of a request, each with the overrides that select it.

    Raises:
        FlybenchError: one of them cannot be composed or is invalid.
    """
    from flybench.config.trees import compose_trees, readable_errors, split

    with readable_errors():
        found = split(request.task_overrides, request.multirun)
        trees = compose_trees(found, request.search_path)
        configs = _distinct_seeds([run_config(tree) for tree in trees])
        if not request.multirun:
            _check_effect(request, configs[0])
        return [Cell(config, tuple(each)) for config, each in zip(configs, found, strict=True)]


def _distinct_seeds(configs: list[RunConfig]) -> list[RunConfig]:
    """Check that no two greedy cells differ only in their seed, and return them."""
    seeds = sorted({config.seed for config in configs if config.sampling.greedy})
    if len(seeds) > 1:
        raise FlybenchError(
            f"seed={','.join(map(str, seeds))} at sampling.temperature=0 would decode the same "
            "tokens repeatedly: add sampling=t1 to sample, or set a single seed."
        )
    return configs


def _check_effect(request: Request, config: RunConfig) -> None:
    """Refuse a setting of another drafter or rule; in a sweep other cells may have it."""
    for component in (config.method.draft, config.method.verify):
        declared = ["kind", *(name for name, _ in component.values)]
        for override in request.overrides:
            group, _, name = override.key.rpartition(".")
            if group == component.path and name not in declared:
                raise FlybenchError(
                    f"{override.key} has no effect on {group}.kind={component.kind}, which has the "
                    f"settings {', '.join(declared)}: remove it, or choose another kind."
                )


def choose_judge(request: Request, own: JudgeConfig) -> JudgeConfig:
    """Return the judge for `flybench score`: the run's `own` with overrides, or another one.

    Raises:
        FlybenchError: an override is not a judge setting, or the result is invalid.
    """
    from flybench.config.trees import compose_trees, readable_errors

    check_judge_only(request)
    with readable_errors():
        (tree,) = compose_trees([request.task_overrides], request.search_path)
    plain = tree["judge"]
    names = [override.key for override in request.overrides]
    if "judge" not in names:
        changed = [name.removeprefix("judge.") for name in names]
        plain = asdict(own) | {name: plain[name] for name in changed}
    judge: JudgeConfig = build(JudgeConfig, plain, "judge")
    return judge


def check_judge_only(request: Request) -> None:
    """Check that all overrides are judge settings."""
    for override in request.overrides:
        if override.group != "judge":
            raise FlybenchError(
                f"{override.key} cannot be set for `flybench score`: pass only run folders and "
                "judge settings, see `flybench score --help`."
            )


def run_config(tree: dict[str, Any]) -> RunConfig:
    """Convert one composed tree to a checked configuration."""
    model = tree["model"]
    if model.get("name") is None:
        refs = [model[role] for role in ("target", "draft") if model.get(role)]
        model["name"] = "+".join(Path(str(ref["path"]).split(":")[-1]).stem for ref in refs)
    return RunConfig.from_tree(tree)
