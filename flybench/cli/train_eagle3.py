"""`flybench train-eagle3`: train an EAGLE-3 head for a target on its own answers to prompts."""

from __future__ import annotations

import argparse
from pathlib import Path

from flybench.cli.parser import Parser
from flybench.cli.settings_help import ENGINE
from flybench.config.checks import build
from flybench.config.compose import add_config_dir, cells, make_request
from flybench.config.overrides import Override, split_settings
from flybench.core.errors import FlybenchError
from flybench.train.settings import AnswerSettings, HeadSettings


def declare(parser: Parser) -> None:
    """Add the options and settings of `flybench train-eagle3`."""
    add_config_dir(parser)
    parser.add_settings(
        [
            ("data=FILE", "required: JSON lines, each with a prompt or messages"),
            ("model=NAME", "the pair whose target is used, see `flybench list models`"),
            (
                "model.target.path=PATH",
                "your own target: Hugging Face Hub id, folder or .gguf file",
            ),
            ("out=DIR", "the output folder (default: heads/NAME)"),
            ("train.steps=N", "optimiser steps, each of about train.batch_tokens=N tokens"),
            ("train.lr=X", "the peak learning rate"),
            ("train.KEY=VALUE", "draft_vocab_size, longest, held_out, measured, unroll, decay, …"),
            ("answers.max_new_tokens=N", "the maximum length of the target's answers"),
            ("answers.batch=N", "the batch size when generating answers on the graph engine"),
            *ENGINE,
        ]
    )
    parser.add_examples(
        "flybench train-eagle3 model=llama8b data=prompts.jsonl out=heads/mine",
    )


def run(args: argparse.Namespace) -> int:
    """Check the request, then answer the prompts and train."""
    own, overrides = split_settings(args.settings, ("train", "answers"), ("data", "out"))
    if "data" not in own:
        raise FlybenchError(
            "data is missing: add data=FILE, a file of JSON lines, each with a prompt or messages."
        )
    settings = build(HeadSettings, own["train"], "train")
    answers = build(AnswerSettings, own["answers"], "answers")
    request = make_request([*overrides, Override.parse("method=ar")], config_dir=args.config_dir)
    (config,) = cells(request)
    folder = Path(own.get("out", f"heads/{config.model.name}")).expanduser()

    from flybench.train.train_eagle3 import train

    return train(config, Path(own["data"]), folder, settings, answers)
