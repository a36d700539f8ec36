"""`flybench score`: score recorded answers again and update the summary."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from flybench.cli.parser import Parser
from flybench.cli.settings_help import JUDGE
from flybench.config.compose import add_config_dir, check_judge_only, choose_judge, make_request
from flybench.records.folder import RunFolder


def declare(parser: Parser) -> None:
    """Add the options and settings of `flybench score`."""
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="a folder that `flybench run` printed"
    )
    add_config_dir(parser)
    parser.add_settings(JUDGE)
    parser.add_exit_codes(
        [
            ("0", "success"),
            ("1", "some judge calls failed"),
            ("2", "the command is invalid"),
        ]
    )
    parser.add_examples(
        "flybench score results/llama8b-fly-gsm8k-*",
        "flybench score results/llama8b-fly-mt_bench-* judge=openai judge.model=gpt-4o",
    )


def run(args: argparse.Namespace) -> int:
    """Score the records of every run, with its own judge or the given one."""
    request = make_request(args.settings, config_dir=args.config_dir)
    check_judge_only(request)
    folders = RunFolder.all_existing(args.runs)

    from flybench.metrics.summary import judge_failures, write_summary
    from flybench.run.headline import headline
    from flybench.run.provenance import write_config
    from flybench.score.judge import build_judge
    from flybench.score.score import score_folder

    judges = lru_cache(1)(build_judge)  # keep one, because a local judge is a loaded model
    code = 0
    for folder in folders:
        before = folder.config()
        config = replace(before, judge=choose_judge(request, before.judge))
        with folder.exclusive():
            judge = None if config.judge.kind == "none" else judges(config.judge)
            score_folder(folder, config, judge)
            rows = write_summary(folder)
            if config != before:
                # Written last: a judge that fails must not change the configuration.
                write_config(folder, config)
        print(headline(rows))
        code = max(code, int(judge_failures(rows) > 0))
    return code
