"""`flybench train-eagle3`: an EAGLE-3 head for a target, from its own answers to prompts."""

from __future__ import annotations

import argparse
from pathlib import Path

from flybench.cli.parser import Parser
from flybench.cli.settings import ENGINE
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
            ("data=FILE", "JSON objects with a prompt, or messages, one a line; required"),
            ("model=NAME", "the pair whose target gets a head, see `flybench list models`"),
            ("model.target.path=PATH", "a hub id, a folder or a .gguf file of your own"),
            ("out=DIR", "where the head is written; heads/NAME without it"),
            ("train.steps=N", "optimiser steps, each of about train.batch_tokens=N tokens"),
            ("train.lr=X", "the peak of the learning rate"),
            ("train.KEY=VALUE", "draft_vocab_size, longest, held_out, measured, unroll, decay, …"),
            ("answers.max_new_tokens=N", "the longest answer of the target"),
            ("answers.batch=N", "prompts that it answers at once, on the graph engine"),
            *ENGINE,
        ]
    )
    parser.add_examples(
        "flybench train-eagle3 model=llama8b data=prompts.jsonl out=heads/mine",
    )


def run(asked: argparse.Namespace) -> int:
    """Check the request, then answer the prompts and train."""
    own, overrides = split_settings(asked.settings, ("train", "answers"), ("data", "out"))
    if "data" not in own:
        raise FlybenchError(
            "flybench train-eagle3 needs data=FILE, a file of JSON objects with a prompt, or "
            "messages, one a line."
        )
    settings = build(HeadSettings, own["train"], "train")
    answers = build(AnswerSettings, own["answers"], "answers")
    request = make_request([*overrides, Override.parse("method=ar")], config_dir=asked.config_dir)
    (config,) = cells(request)
    folder = Path(own.get("out", f"heads/{config.model.name}")).expanduser()

    from flybench.train.train_eagle3 import train

    return train(config, Path(own["data"]), folder, settings, answers)
