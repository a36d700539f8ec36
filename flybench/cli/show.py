"""`flybench show`: print an answer with the outcome of every token, or the list of samples."""

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
        help="the id of a sample (default: list all samples, those with flips and loose tokens "
        "first)",
    )
    parser.add_argument(
        "--method", metavar="NAME", help="a method of the run (default: the last one except AR)"
    )
    parser.add_examples(
        "flybench show results/llama8b-fly-gsm8k-27fe587a",
        "flybench show results/llama8b-fly-gsm8k-27fe587a gsm8k/7 --method ar",
    )


def run(args: argparse.Namespace) -> int:
    """Print the answer to one sample, or the list of samples.

    Raises:
        FlybenchError: the run, the method or the sample does not exist.
    """
    path, sample = args.run, args.sample
    if sample is not None and not path.is_dir() and RunFolder(Path(sample)).config_file.is_file():
        raise FlybenchError(
            f"the run {sample} must come first: use `flybench show {sample} {one_line(str(path))}`."
        )
    RunFolder.existing(path)

    from flybench.analysis.show.show import show

    return show(path, sample, args.method)
