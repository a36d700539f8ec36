"""`flybench lm-eval`: lm-eval's command line, with flybench among its models.

lm-eval 0.4.13 finds no models of other packages, so this adds ours and hands over. Later versions
read the entry point in `pyproject.toml`, and their own `lm_eval` command does.
"""

from __future__ import annotations

import argparse
import sys

from flybench.cli.parser import Parser


def declare(parser: Parser) -> None:
    """Hand every word to lm-eval, and list those that concern flybench."""
    parser.hands_over = True
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="options of lm-eval: `flybench lm-eval run --help`"
    )
    parser.add_argument("--model", metavar="flybench", help="flybench, for every method of ours")
    parser.add_argument(
        "--model_args",
        metavar="KEY=VALUE,…",
        help="settings of `flybench run` with commas between them; records=FILE.jsonl keeps every "
        "round",
    )
    parser.add_examples(
        "flybench lm-eval run --model flybench --model_args model=llama8b,method=fly,method.k=15 "
        "--tasks gsm8k_cot_llama --apply_chat_template",
    )


def run(asked: argparse.Namespace) -> int:
    """Register flybench as a model and run lm-eval's command."""
    from lm_eval.__main__ import cli_evaluate
    from lm_eval.api.registry import model_registry

    from flybench.interop.lm_eval_model.model import NAME, FlybenchLM

    if NAME not in model_registry:
        model_registry.register(NAME, target=FlybenchLM)
    before = sys.argv
    sys.argv = ["lm_eval", *asked.words]
    try:
        cli_evaluate()
    finally:
        sys.argv = before
    return 0
