"""What the verbs do: run, score, report, list."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from flybench.arguments import Parser
from flybench.assessment import assess, judge_failures
from flybench.compose import (
    Request,
    cells,
    conf_dir,
    judge_of,
    options,
    parse_request,
    read_yaml,
    run_config,
)
from flybench.config import RunConfig
from flybench.core import FlybenchError
from flybench.dry_run import dry_run
from flybench.experiments import distinct, expand
from flybench.provenance import write_config
from flybench.records import RunFolder
from flybench.report import write_report
from flybench.report.headline import headline
from flybench.sweep import Sweep

GROUPS = {
    "models": "model",
    "methods": "method",
    "tasks": "task",
    "engines": "engine",
    "samplings": "sampling",
    "judges": "judge",
    "experiments": "experiment",
}
DRY = "--dry-run"
SETTING = re.compile(r"[+~]*[a-z_.]+=")  # and no path, which has a slash before any such sign


def run_command(arguments: Sequence[str]) -> int:
    """`flybench run`: check every cell, then let Hydra launch them one by one."""
    request = parse_request([argument for argument in arguments if argument != DRY])
    requests = expand(request)
    configs = distinct([config for each in requests for config in cells(each)])
    if DRY in arguments:
        dry_run(configs)
        return 0
    sweep = Sweep(configs, ["flybench", "run", *arguments])
    codes: dict[RunConfig, int] = {}

    def job(tree: DictConfig) -> None:
        config = run_config(tree)
        if config in codes:
            return
        if request.multirun:
            chosen = HydraConfig.get().overrides.task
            print("\n" + " ".join(override.lstrip("+") for override in chosen))
        codes[config] = sweep.run(config)

    for each in requests:
        _launch(each, job)
    if closing := sweep.closing():
        print(f"\n{closing}")
    return max(codes.values())


def score_command(arguments: Sequence[str]) -> int:
    """`flybench score RUN… [judge=…]`: judge recorded answers again and refresh the summary."""
    parser = _parser("score")
    parser.add_argument("--config-dir", type=Path)
    overrides = [argument for argument in arguments if SETTING.match(argument)]
    folders, asked = _folders(parser, [word for word in arguments if word not in overrides])
    extra = [] if asked.config_dir is None else ["--config-dir", str(asked.config_dir)]
    request = parse_request([*extra, *overrides])
    code = 0
    for folder in folders:
        before = _config_of(folder)
        config = replace(before, judge=judge_of(request, before.judge))
        with folder.exclusive():
            rows = assess(folder, config)
            if (
                config != before
            ):  # only now, so that a judge that could not be asked leaves no trace
                write_config(folder, config)
        print(headline(rows))
        code = max(code, int(judge_failures(rows) > 0))
    return code


def report_command(arguments: Sequence[str]) -> int:
    """`flybench report RUN…`: write the page, its markdown twin and tables for papers."""
    parser = _parser("report")
    parser.add_argument("--out", type=Path)
    folders, options_ = _folders(parser, arguments)
    out = options_.out or Path("reports") / folders[0].path.resolve().name
    print(write_report(folders, out))
    return 0


def list_command(arguments: Sequence[str]) -> int:
    """`flybench list models`, or another group."""
    parser = Parser("list")
    parser.add_argument("what", nargs="?")
    parser.add_argument("--config-dir", type=Path)
    asked = parser.parse_args(list(arguments))
    if asked.what not in GROUPS:
        raise FlybenchError(f"flybench list needs one of {', '.join(GROUPS)}.")
    if asked.config_dir is not None and not asked.config_dir.is_dir():
        raise FlybenchError(f"--config-dir {asked.config_dir} is not a folder: check the path.")
    known = options(GROUPS[asked.what], asked.config_dir)
    width = max(map(len, known))
    for name, description in known.items():
        print(f"{name:{width}}  {description}")
    return 0


def _config_of(folder: RunFolder) -> RunConfig:
    return RunConfig.from_tree(read_yaml(folder.config_file))


def _launch(request: Request, job: Callable[[DictConfig], None]) -> None:
    """Hand over to Hydra's own command line, which sweeps and launches."""
    main = hydra.main(config_path=str(conf_dir()), config_name="config", version_base="1.3")
    before, environment = sys.argv, dict(os.environ)
    sys.argv = ["flybench run", *request.hydra_arguments]
    # Errors reach our own handler as they are, instead of Hydra's report of them.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        main(job)()
    finally:
        sys.argv = before
        os.environ.clear()
        os.environ.update(environment)


def _parser(verb: str) -> Parser:
    parser = Parser(verb)
    parser.add_argument("runs", nargs="+", type=Path)
    return parser


def _folders(
    parser: Parser, arguments: Sequence[str]
) -> tuple[list[RunFolder], argparse.Namespace]:
    parsed = parser.parse_args(list(arguments))
    return RunFolder.all_existing(parsed.runs), parsed
