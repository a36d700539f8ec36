"""Hydra's part: from command-line overrides to checked run configurations.

`conf/` ships with flybench; `--config-dir DIR` adds a folder of the same shape. Every cell of a
sweep is composed and checked before the first one runs.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, MissingMandatoryValue, OmegaConf

from flybench.config import JudgeConfig, RunConfig
from flybench.config.checks import build, suggestion
from flybench.config.groups import CHOICES, GROUPS, conf_dir, files, options
from flybench.core.errors import FlybenchError

HYDRA = re.compile(r"[+~]*hydra[./]")


@dataclass(frozen=True)
class Request:
    """What the user asked `flybench run` for."""

    overrides: list[str]
    multirun: bool
    config_dir: Path | None

    @property
    def hydra_overrides(self) -> list[str]:
        """What is said to Hydra itself, such as which launcher to use."""
        return [override for override in self.overrides if HYDRA.match(override)]

    @property
    def task_overrides(self) -> list[str]:
        """What is said of runs."""
        return [override for override in self.overrides if not HYDRA.match(override)]

    @property
    def search_path(self) -> list[str]:
        """Where else Hydra looks for groups' files."""
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


def parse_request(arguments: Sequence[str]) -> Request:
    """Read the arguments of `flybench run`.

    A setting that a group's file does not spell out is added rather than refused here, since
    `RunConfig` knows every setting and refuses better.

    Raises:
        FlybenchError: an argument is neither an option nor key=value, a folder is missing, or a
            file in it has the name of one that comes with flybench.
    """
    parser = argparse.ArgumentParser("flybench run", add_help=False, exit_on_error=False)
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("--config-dir", type=Path)
    try:
        known, rest = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:
        raise FlybenchError(f"{error}; see `flybench --help`.") from error
    for argument in rest:
        if "=" not in argument:
            raise FlybenchError(
                f"{argument!r} is neither an option (-m, --config-dir DIR) nor key=value: see "
                "`flybench --help`."
            )
    if known.config_dir is not None and not known.config_dir.is_dir():
        raise FlybenchError(f"--config-dir {known.config_dir} is not a folder: check the path.")
    directory = None if known.config_dir is None else known.config_dir.resolve()
    for group in CHOICES:
        files(group, directory)  # refuses names that are taken
    if any(a.startswith("model.target.path=") for a in rest) and not any(
        a.startswith("model=") for a in rest
    ):
        rest = ["model=local", *rest]
    return Request([addable(argument) for argument in rest], known.multirun, directory)


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
    with in_one_sentence(request):
        own = request.task_overrides
        parsed = OverridesParser.create().parse_overrides(own)
        found = [own]
        if request.multirun:
            (found,) = BasicSweeper.split_arguments(parsed, max_batch_size=None)
        elif swept := [str(o.input_line) for o in parsed if o.is_sweep_override()]:
            raise FlybenchError(
                f"{swept[0].lstrip('+')} lists several values: add -m to run them all, or quote "
                "the value if it is one."
            )
        if not found:
            raise FlybenchError("The sweep has no combination to run: check its ranges.")
        with initialize_config_dir(str(conf_dir()), version_base="1.3"):
            trees = [compose("config", [*each, *request.search_path]) for each in found]
        configs = _told_apart([run_config(tree) for tree in trees])
        return [Cell(config, tuple(each)) for config, each in zip(configs, found, strict=True)]


def _told_apart(configs: list[RunConfig]) -> list[RunConfig]:
    """The same cells, unless some are copies of others by another name."""
    seeds = sorted({config.seed for config in configs if config.sampling.rule().greedy})
    if len(seeds) > 1:
        raise FlybenchError(
            f"seed={','.join(map(str, seeds))} at sampling.temperature=0 would decode the same "
            "tokens again: add sampling=t1 to draw them, or give one seed."
        )
    return configs


def judge_of(request: Request, own: JudgeConfig) -> JudgeConfig:
    """A run's `own` judge with the overrides of `flybench score`, or the one that they choose.

    Raises:
        FlybenchError: an override is of anything else, or what they make cannot work.
    """
    names = [override.lstrip("+").partition("=")[0] for override in request.overrides]
    for name in names:
        if name.split(".")[0] != "judge":
            raise FlybenchError(
                f"{name} cannot be set for `flybench score`, which takes runs and judge settings: "
                "see `flybench --help`."
            )
    with in_one_sentence(request), initialize_config_dir(str(conf_dir()), version_base="1.3"):
        tree = compose("config", [*request.overrides, *request.search_path]).judge
        plain: dict[str, Any] = OmegaConf.to_container(tree, resolve=True, throw_on_missing=True)  # type: ignore[assignment]
    if "judge" not in names:
        changed = [name.removeprefix("judge.") for name in names]
        plain = asdict(own) | {name: plain[name] for name in changed}
    judge: JudgeConfig = build(JudgeConfig, plain, "judge")
    return judge


def run_config(tree: DictConfig) -> RunConfig:
    """The checked configuration of one composed tree."""
    plain: dict[str, Any] = OmegaConf.to_container(tree, resolve=True, throw_on_missing=True)  # type: ignore[assignment]
    plain.pop("hydra", None)
    model = plain["model"]
    if model.get("name") is None:
        refs = [model[role] for role in ("target", "draft") if model.get(role)]
        model["name"] = "+".join(Path(str(ref["path"]).split(":")[-1]).stem for ref in refs)
    return RunConfig.from_tree(plain)


def addable(argument: str) -> str:
    """An override as Hydra takes it whether or not a group's file spells its setting out."""
    key = argument.partition("=")[0]
    special = key.startswith(("+", "~", "hydra")) or key.partition("@")[0] in GROUPS
    return argument if special else f"++{argument}"


@contextmanager
def in_one_sentence(request: Request) -> Iterator[None]:
    """Turn what Hydra and OmegaConf raise into one sentence with a remedy."""
    try:
        yield
    except FlybenchError:
        raise
    except Exception as error:  # Hydra, OmegaConf and YAML raise a dozen kinds
        for override in request.overrides:
            group, _, names = override.partition("=")
            known = options(group, request.config_dir) if group in GROUPS else {}
            for name in names.split(",") if known else []:
                if name not in known:
                    raise FlybenchError(
                        f"{group}={name} does not exist: choose one of {', '.join(known)}"
                        f"{suggestion(name, known)}."
                    ) from error
        if isinstance(error, MissingMandatoryValue):
            raise FlybenchError(
                f"{error.full_key} is not given, and has no value of its own: add "
                f"{error.full_key}=… to the command."
            ) from error
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise FlybenchError(
            f"the settings cannot be read ({first_line.replace('++', '')}): write them as "
            "key=value, and text with special characters as 'key=\"text\"'."
        ) from error
