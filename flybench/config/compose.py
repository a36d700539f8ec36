"""From command-line overrides to checked run configurations.

`conf/` ships with flybench; `--config-dir DIR` adds a folder of the same shape. Every cell of a
sweep is composed and checked before the first one runs. A setting or an option of a group that does
not exist is refused before Hydra, which takes most of a second to import.
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
from flybench.config.names import check_names
from flybench.config.overrides import Override
from flybench.core.errors import FlybenchError

HYDRA = "hydra"


@dataclass(frozen=True)
class Request:
    """The overrides that `flybench run` was given, and how to compose them."""

    overrides: list[Override]
    multirun: bool
    config_dir: Path | None

    @property
    def hydra_overrides(self) -> list[str]:
        """Overrides of Hydra itself, such as which launcher to use."""
        return [each.text for each in self.overrides if each.group == HYDRA]

    @property
    def task_overrides(self) -> list[str]:
        """Overrides of runs."""
        return [each.text for each in self.overrides if each.group != HYDRA]

    @property
    def search_path(self) -> list[str]:
        """Hydra's override that adds the user's own groups."""
        directory = self.config_dir
        return [] if directory is None else [f"hydra.searchpath=[file://{directory}]"]


class Cell(NamedTuple):
    """One combination that a request asks for, and the overrides that make it."""

    config: RunConfig
    overrides: tuple[str, ...]

    @property
    def name(self) -> str:
        """The overrides as the user wrote them."""
        return " ".join(override.lstrip("+") for override in self.overrides)


def add_config_dir(parser: argparse.ArgumentParser) -> None:
    """Declare the option of every verb that reads `conf/`."""
    parser.add_argument(
        "--config-dir", type=Path, metavar="DIR", help="a folder of your own files, shaped as conf/"
    )


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every verb that composes runs."""
    parser.add_argument(
        "-m",
        "--multirun",
        action="store_true",
        help="run every combination of comma-separated values, or the presets of experiment=NAME",
    )
    add_config_dir(parser)


def parse_request(words: Sequence[str]) -> Request:
    """Read the words of a command line that composes runs.

    Raises:
        FlybenchError: a word is neither an option nor key=value, or `make_request` refuses one.
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
    """A request whose settings and options exist.

    A setting that a group's file does not spell out is added rather than refused by Hydra, since
    `RunConfig` knows every setting and refuses better.

    Raises:
        FlybenchError: a setting or an option does not exist, a folder is missing, or a file in it
            has the name of one that comes with flybench.
    """
    if config_dir is not None and not config_dir.is_dir():
        raise FlybenchError(f"--config-dir {config_dir} is not a folder: check the path.")
    directory = None if config_dir is None else config_dir.resolve()
    for group in CHOICES:
        files(group, directory)  # refuses names that are taken
    keys = {override.key for override in overrides}
    own = list(overrides)
    if "model.target.path" in keys and "model" not in keys:
        own = [Override.parse("model=local"), *own]
    check_names(own, directory)
    return Request([addable(override) for override in own], multirun, directory)


def addable(override: Override) -> Override:
    """An override as Hydra takes it whether or not a group's file spells its setting out."""
    chosen = override.key.partition("@")[0] in GROUPS
    if chosen or override.group == HYDRA or override.text[0] in "+~":
        return override
    return override._replace(text=f"++{override.text}")


def cells(request: Request) -> list[RunConfig]:
    """Every combination that a request asks for, composed and checked.

    Raises:
        FlybenchError: one of them cannot be composed or cannot work.
    """
    return [cell.config for cell in combinations(request)]


def combinations(request: Request) -> list[Cell]:
    """The same, each with the overrides that make it.

    Raises:
        FlybenchError: one of them cannot be composed or cannot work.
    """
    from flybench.config.trees import composed, in_one_sentence, split

    with in_one_sentence():
        found = split(request.task_overrides, request.multirun)
        trees = composed(found, request.search_path)
        configs = _distinct_seeds([run_config(tree) for tree in trees])
        if not request.multirun:
            _check_effect(request, configs[0])
        return [Cell(config, tuple(each)) for config, each in zip(configs, found, strict=True)]


def _distinct_seeds(configs: list[RunConfig]) -> list[RunConfig]:
    """The same cells, unless some are copies of others by another seed."""
    seeds = sorted({config.seed for config in configs if config.sampling.greedy})
    if len(seeds) > 1:
        raise FlybenchError(
            f"seed={','.join(map(str, seeds))} at sampling.temperature=0 would decode the same "
            "tokens again: add sampling=t1 to draw them, or give one seed."
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
                    f"{override.key} has no effect on {group}.kind={component.kind}, which has "
                    f"{', '.join(declared)}: leave it out, or choose another kind."
                )


def judge_of(request: Request, own: JudgeConfig) -> JudgeConfig:
    """A run's `own` judge with the overrides of `flybench score`, or the one that they choose.

    Raises:
        FlybenchError: an override is of anything else, or what they make cannot work.
    """
    from flybench.config.trees import composed, in_one_sentence

    check_judge_only(request)
    with in_one_sentence():
        (tree,) = composed([request.task_overrides], request.search_path)
    plain = tree["judge"]
    names = [override.key for override in request.overrides]
    if "judge" not in names:
        changed = [name.removeprefix("judge.") for name in names]
        plain = asdict(own) | {name: plain[name] for name in changed}
    judge: JudgeConfig = build(JudgeConfig, plain, "judge")
    return judge


def check_judge_only(request: Request) -> None:
    """Refuse overrides of anything but the judge."""
    for override in request.overrides:
        if override.group != "judge":
            raise FlybenchError(
                f"{override.key} cannot be set for `flybench score`, which takes runs and judge "
                "settings: see `flybench score --help`."
            )


def run_config(tree: dict[str, Any]) -> RunConfig:
    """The checked configuration of one composed tree."""
    model = tree["model"]
    if model.get("name") is None:
        refs = [model[role] for role in ("target", "draft") if model.get(role)]
        model["name"] = "+".join(Path(str(ref["path"]).split(":")[-1]).stem for ref in refs)
    return RunConfig.from_tree(tree)
