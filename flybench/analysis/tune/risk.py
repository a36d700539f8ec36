"""How much harm a setting may do, estimated from the tokens that its replay lets through.

Every loose token weighs by its class (`flybench.core.token_classes`, of texts alone, without their
place): a digit may be the answer, a comma seldom is. The weights are judgement, set once and for
all before anything was measured with them. What is loosened at an answer's opening counts apart,
since it may change the form of all that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from flybench.analysis.replay.rows import Rows
from flybench.analysis.replay.walk import Rounds
from flybench.config import MethodConfig
from flybench.core.token_classes import classify
from flybench.metrics.loose import OPENING

WEIGHTS = {
    **{"digit": 1.0, "sign or unit": 1.0, "negation": 1.0, "ending": 1.0},
    **{"quote or copy": 0.7, "identifier": 0.7, "other": 0.5, "format": 0.2, "function word": 0.1},
}


class Risk:
    """A replay's `risk`, weighted loose tokens in 1,000, and `opening`, the share of answers with a
    loose token among their first 8."""

    def __init__(self, spell: Callable[[Sequence[int]], str]) -> None:
        @cache
        def weight(token: int, choice: int) -> float:
            return WEIGHTS[classify(spell([token]), spell([choice]))]

        self._weight = weight

    def __call__(self, method: MethodConfig, rounds: Rounds, rows: Rows) -> dict[str, Any]:
        pairs = zip(rows.token[rounds.loose_tokens], rows.choice[rounds.loose_tokens], strict=True)
        weighed = sum(self._weight(int(token), int(choice)) for token, choice in pairs)
        early = np.unique(rounds.loosened_in[rounds.loosened_at < OPENING])
        return {
            "risk": 1000 * weighed / int(rounds.emitted.sum()),
            "opening": len(early) / len(rows.answers),
        }
