"""`flybench lm-eval`: the command line of lm-eval, with flybench as one of its models.

lm-eval 0.4.13 does not load models of other packages, so this command registers the model first.
Later versions read the entry point in `pyproject.toml`, so their own `lm_eval` command works too.
"""

from __future__ import annotations

import argparse
import sys

from flybench.cli.parser import Parser


def declare(parser: Parser) -> None:
    """Pass all arguments to lm-eval, and list those that flybench adds."""
    parser.forwards_arguments = True
    parser.add_argument("words", nargs="*", metavar="ARG", help="see `flybench lm-eval run --help`")
    parser.add_argument("--model", metavar="flybench", help="flybench's methods as a model")
    parser.add_argument(
        "--model_args",
        metavar="KEY=VALUE,…",
        help="settings of `flybench run`, separated by commas; records=FILE.jsonl writes records "
        "with every round",
    )
    parser.add_examples(
        "flybench lm-eval run --model flybench --model_args model=llama8b,method=fly,method.k=15 "
        "--tasks gsm8k_cot_llama --apply_chat_template",
    )


def run(args: argparse.Namespace) -> int:
    """Register flybench as a model and run the command of lm-eval."""
    from lm_eval.__main__ import cli_evaluate
    from lm_eval.api.registry import model_registry

    from flybench.interop.lm_eval_model.model import NAME, FlybenchLM

    if NAME not in model_registry:
        model_registry.register(NAME, target=FlybenchLM)
    before = sys.argv
    sys.argv = ["lm_eval", *args.words]
    try:
        cli_evaluate()
    finally:
        sys.argv = before
    return 0
