"""`flybench replay`: what other settings would accept of recorded drafts."""

from __future__ import annotations

import argparse
from pathlib import Path

from flybench.analysis.replay.settings import check_settings
from flybench.cli.parser import Parser
from flybench.config.overrides import split_settings
from flybench.core.errors import FlybenchError
from flybench.records.folder import RunFolder


def declare(parser: Parser) -> None:
    """Add the options and settings of `flybench replay`."""
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="a run with record.traces=true, best of method=spd at the longest K",
    )
    parser.add_argument(
        "--against",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="real runs of other settings: show the error of their replays",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table to FILE")
    parser.add_settings(
        [
            ("method.k=N,…", "draft lengths to replay"),
            ("method.verify.kind=…", "exact, fly, or both"),
            ("method.verify.rule=…", "official, paper, vllm"),
            ("method.verify.theta=X,…", "gates of FLy"),
            ("method.verify.window=N,…", "windows of FLy"),
            ("latency=FILE", "costs of `flybench latency`, which add a projected speed-up"),
        ]
    )
    parser.add_examples(
        "flybench replay results/llama8b-spd-gsm8k-* method.verify.theta=0.1,0.3 method.k=5,10",
        "flybench replay results/llama8b-spd-gsm8k-* --against results/llama8b-fly-gsm8k-*",
    )


def run(asked: argparse.Namespace) -> int:
    """Print the table of a grid, or that of real runs beside their replays."""
    own, swept = split_settings(asked.settings, (), ("latency",))
    words = [override.text for override in swept]
    if asked.csv is not None and not asked.csv.parent.is_dir():
        raise FlybenchError(f"--csv {asked.csv} has no folder: make {asked.csv.parent} first.")
    folders = RunFolder.all_existing(asked.runs)
    check_settings(folders[0].config().method, words)
    others = RunFolder.all_existing(asked.against) if asked.against else []

    from flybench.analysis.replay.text import replay_runs

    costs = Path(own["latency"]) if "latency" in own else None
    table = replay_runs(folders, words, costs, others)
    if asked.csv:
        table.to_csv(asked.csv, index=False)
    return 0
