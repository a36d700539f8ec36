"""`flybench show`: one answer with the outcome of every token, or the list of samples."""

from __future__ import annotations

import argparse
from pathlib import Path

from flybench.analysis.show.outcomes import one_line
from flybench.cli.parser import Parser
from flybench.core.errors import FlybenchError
from flybench.records.folder import RunFolder


def declare(parser: Parser) -> None:
    """Add the options of `flybench show`."""
    parser.add_argument(
        "run", type=Path, metavar="RUN", help="a folder that `flybench run` printed"
    )
    parser.add_argument(
        "sample",
        nargs="?",
        metavar="SAMPLE",
        help="a sample's id; the list of samples without it, flips and loosened answers first",
    )
    parser.add_argument(
        "--method", metavar="NAME", help="a method of the run; the last that is not AR without it"
    )
    parser.add_examples(
        "flybench show results/llama8b-fly-gsm8k-27fe587a",
        "flybench show results/llama8b-fly-gsm8k-27fe587a gsm8k/7 --method ar",
    )


def run(asked: argparse.Namespace) -> int:
    """Print one sample's answer, or without a sample the list of them.

    Raises:
        FlybenchError: there is no such run, method or sample.
    """
    path, sample = asked.run, asked.sample
    if sample is not None and not path.is_dir() and RunFolder(Path(sample)).config_file.is_file():
        raise FlybenchError(
            f"{sample} is the run and comes first: flybench show {sample} {one_line(str(path))}."
        )
    RunFolder.existing(path)

    from flybench.analysis.show.show import show

    return show(path, sample, asked.method)
