"""`flybench lm-eval`: lm-eval's command line, with flybench among its models.

lm-eval 0.4.13 finds no models of other packages, so this adds ours and hands over. Later versions
read the entry point in `pyproject.toml`, and their own `lm_eval` command does.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from lm_eval.__main__ import cli_evaluate
from lm_eval.api.registry import model_registry

from flybench.interop.lm_eval_model.model import NAME, FlybenchLM


def lm_eval_command(arguments: Sequence[str]) -> int:
    """Everything that follows the verb is lm-eval's own."""
    if NAME not in model_registry:
        model_registry.register(NAME, target=FlybenchLM)
    before = sys.argv
    sys.argv = ["lm_eval", *arguments]
    try:
        cli_evaluate()
    finally:
        sys.argv = before
    return 0
