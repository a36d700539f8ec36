"""What the verbs do: run, score, report, list."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from flybench.arguments import Parser
from flybench.checks import explain
from flybench.compose import (
    Request,
    cells,
    conf_dir,
    options,
    parse_request,
    read_yaml,
    run_config,
)
from flybench.config import RunConfig
from flybench.core import FlybenchError, Prompt
from flybench.engine.placement import use_threads
from flybench.plan import Plan, make_plan
from flybench.provenance import open_folder
from flybench.ranks import from_leader, join, rank
from flybench.records import RunFolder
from flybench.report import write_report
from flybench.report.headline import headline
from flybench.run import generate, pending
from flybench.scoring import score_run
from flybench.summary import Row, write_summary
from flybench.tasks import build_task

GROUPS = {"models": "model", "methods": "method", "tasks": "task"}


def run_command(arguments: Sequence[str]) -> int:
    """`flybench run`: check every cell, then let Hydra launch them one by one."""
    request = parse_request(arguments)
    cells(request)
    codes: list[int] = []

    def job(tree: DictConfig) -> None:
        if request.multirun:
            chosen = HydraConfig.get().overrides.task
            print("\n" + " ".join(override.lstrip("+") for override in chosen))
        codes.append(_run_cell(run_config(tree), arguments))

    _launch(request, job)
    return max(codes)


def score_command(arguments: Sequence[str]) -> int:
    """`flybench score RUN…`: judge recorded answers again and refresh the summary."""
    for folder in _folders(_parser("score"), arguments)[0]:
        with folder.exclusive():
            rows = _score(folder, _config_of(folder))
        print(headline(rows))
    return 0


def report_command(arguments: Sequence[str]) -> int:
    """`flybench report RUN…`: write the page and its markdown twin."""
    parser = _parser("report")
    parser.add_argument("--out", type=Path)
    folders, options_ = _folders(parser, arguments)
    out = options_.out or Path("reports") / folders[0].path.resolve().name
    print(write_report(folders, out))
    return 0


def list_command(arguments: Sequence[str]) -> int:
    """`flybench list models|methods|tasks`."""
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


def _run_cell(config: RunConfig, arguments: Sequence[str]) -> int:
    """One run from checks to summary; an error ends this cell alone."""
    try:
        plan = make_plan(config)
        use_threads(plan.engine)
        join(plan.device)
        if rank():
            return _follow(plan)
        with plan.folder.exclusive():
            open_folder(plan, ["flybench", "run", *arguments])
            if todo := from_leader(pending(plan)):
                generate(plan, todo)
            rows = _score(plan.folder, config)
    except Exception as error:  # the other cells of a sweep go on
        if os.environ.get("FLYBENCH_DEBUG"):
            raise
        print(f"flybench: {explain(error)}", file=sys.stderr)
        return 2
    print(headline(rows))
    failed = sum(row["n_error"] for row in rows)
    print(f"\n{plan.folder.path}\nReport: flybench report {plan.folder.path}")
    if failed:
        print(f"{failed} sample(s) failed; the same command tries them again.", file=sys.stderr)
    return 1 if failed else 0


def _follow(plan: Plan) -> int:
    """A rank that computes its part of what rank 0 decodes; its own files are thrown away."""
    todo: list[tuple[int, Prompt]] = from_leader([])
    with tempfile.TemporaryDirectory() as scratch:
        apart = replace(plan, folder=RunFolder(Path(scratch)))
        open_folder(apart, [])
        if todo:
            generate(apart, todo)
    return 0


def _score(folder: RunFolder, config: RunConfig) -> list[Row]:
    task = build_task(config.task)
    if folder.provenance().get("data_sha256") not in (None, task.data_sha256):
        raise FlybenchError(
            f"The data of task {config.task.name} are not those that {folder.path} was made with: "
            "put these back where they were, or run again with the new ones."
        )
    score_run(folder, task)
    return write_summary(folder)


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
    return [RunFolder.existing(path) for path in parsed.runs], parsed
