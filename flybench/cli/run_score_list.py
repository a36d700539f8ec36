"""What the verbs do: run, score, list.

The engine, the statistics and the report are imported once a request is understood: they take
seconds, and a slip of the pen is told before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from flybench.cli.arguments import Parser, planned_only
from flybench.config.compose import judge_of, parse_request
from flybench.config.experiments import distinct, expand
from flybench.config.groups import CHOICES, options
from flybench.core.errors import FlybenchError
from flybench.records.folder import RunFolder
from flybench.run.launcher import launch, launcher_of, run_cells

LISTED = {f"{group}s": group for group in CHOICES}
SETTING = re.compile(r"[+~]*[a-z_.]+=")  # and no path, which has a slash before any such sign


def run_command(arguments: Sequence[str]) -> int:
    """`flybench run`: check every cell, then run them here, or where Hydra's launcher does."""
    dry, rest = planned_only(arguments)
    request = parse_request(rest)
    launcher = launcher_of(request)
    cells = distinct(expand(request))

    if dry:
        from flybench.cli.dry_run import dry_run

        dry_run([cell.config for cell in cells])
        return 0
    argv = ["flybench", "run", *arguments]
    if launcher is None:
        done = run_cells(cells, argv)
    else:
        done = launch(request, launcher, cells, argv)
        # What jobs have said may lie in files of other machines.
        print("\n".join(["", *map(str, done.folders)]))
        for failure in done.failures:
            print(f"flybench: {failure}", file=sys.stderr)

    from flybench.cli.together import together

    if closing := together([RunFolder(path) for path in done.folders]):
        print(f"\n{closing}")
    return done.code


def score_command(arguments: Sequence[str]) -> int:
    """`flybench score RUN… [judge=…]`: judge recorded answers again and refresh the summary."""
    parser = Parser("score")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--config-dir", type=Path)
    overrides = [argument for argument in arguments if SETTING.match(argument)]
    asked = parser.parse_args([word for word in arguments if word not in overrides])
    extra = [] if asked.config_dir is None else ["--config-dir", str(asked.config_dir)]
    request = parse_request([*extra, *overrides])
    folders = RunFolder.all_existing(asked.runs)

    from flybench.metrics.summary import judge_failures, write_summary
    from flybench.run.headline import headline
    from flybench.run.provenance import write_config
    from flybench.score.assessment import assess
    from flybench.score.judge import build_judge

    judges = lru_cache(1)(build_judge)  # one at a time has the memory of a local one
    code = 0
    for folder in folders:
        before = folder.config()
        config = replace(before, judge=judge_of(request, before.judge))
        with folder.exclusive():
            judge = None if config.judge.kind == "none" else judges(config.judge)
            assess(folder, config, judge)
            rows = write_summary(folder)
            if config != before:
                # Only now, so that a judge that could not be asked leaves no trace.
                write_config(folder, config)
        print(headline(rows))
        code = max(code, int(judge_failures(rows) > 0))
    return code


def list_command(arguments: Sequence[str]) -> int:
    """`flybench list models`, or another group."""
    parser = Parser("list")
    parser.add_argument("what", nargs="?")
    parser.add_argument("--config-dir", type=Path)
    asked = parser.parse_args(list(arguments))
    if asked.what not in LISTED:
        raise FlybenchError(f"flybench list needs one of {', '.join(LISTED)}.")
    if asked.config_dir is not None and not asked.config_dir.is_dir():
        raise FlybenchError(f"--config-dir {asked.config_dir} is not a folder: check the path.")
    known = options(LISTED[asked.what], asked.config_dir)
    width = max(map(len, known))
    for name, description in known.items():
        print(f"{name:{width}}  {description}")
    return 0
