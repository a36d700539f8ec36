"""`flybench replay`: estimate the acceptance of other settings from recorded drafts."""

from __future__ import annotations

import argparse
from pathlib import Path

from flybench.analysis.replay.cells import check_settings
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
        help="a run with record.traces=true, ideally of method=spd with a large K",
    )
    parser.add_argument(
        "--against",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="compare the replay with real runs of these settings and show the replay's error",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table to FILE")
    parser.add_settings(
        [
            ("method.k=N,…", "draft lengths to replay"),
            ("method.verify.kind=…", "exact, fly, or both"),
            ("method.verify.rule=…", "FLy's rules: official, paper, vllm"),
            ("method.verify.theta=X,…", "FLy's entropy thresholds"),
            ("method.verify.window=N,…", "FLy's window sizes"),
            ("latency=FILE", "costs from `flybench latency`, to add a projected speed-up"),
        ]
    )
    parser.add_examples(
        "flybench replay results/llama8b-spd-gsm8k-* method.verify.theta=0.1,0.3 method.k=5,10",
        "flybench replay results/llama8b-spd-gsm8k-* --against results/llama8b-fly-gsm8k-*",
    )


def run(args: argparse.Namespace) -> int:
    """Print the table of a grid, or a comparison of real runs with their replays."""
    own, swept = split_settings(args.settings, (), ("latency",))
    words = [override.text for override in swept]
    if args.csv is not None and not args.csv.parent.is_dir():
        raise FlybenchError(
            f"--csv {args.csv}: the folder {args.csv.parent} does not exist: create it first."
        )
    folders = RunFolder.all_existing(args.runs)
    check_settings(folders[0].config().method, words)
    others = RunFolder.all_existing(args.against) if args.against else []

    from flybench.analysis.replay.text import replay_runs

    costs = Path(own["latency"]) if "latency" in own else None
    table = replay_runs(folders, words, costs, others)
    if args.csv:
        table.to_csv(args.csv, index=False)
    return 0
