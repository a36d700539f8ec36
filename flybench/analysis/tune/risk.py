"""Risk of a setting, estimated from the loose tokens of its replay.

Every loose token is weighted by its class (`flybench.core.token_classes`, from the texts of tokens
only, without their position): a digit may be the answer, a comma rarely is. The weights are a
judgement call and were fixed before any measurement. Loose tokens in the opening of an answer are
counted separately, because they may change the form of the whole answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from flybench.analysis.replay.traced_rows import Rows
from flybench.analysis.replay.walk import Rounds
from flybench.config import MethodConfig
from flybench.core.token_classes import classify
from flybench.metrics.loose import OPENING

WEIGHTS = {
    **{"digit": 1.0, "sign or unit": 1.0, "negation": 1.0, "ending": 1.0},
    **{"quote or copy": 0.7, "identifier": 0.7, "other": 0.5, "format": 0.2, "function word": 0.1},
}


class Risk:
    """Columns of a replay's `risk` and `opening`.

    `risk` is the number of weighted loose tokens per 1,000 tokens. `opening` is the share of
    answers with a loose token among their first 8.
    """

    def __init__(self, detokenize: Callable[[Sequence[int]], str]) -> None:
        @cache
        def weight(token: int, choice: int) -> float:
            return WEIGHTS[classify(detokenize([token]), detokenize([choice]))]

        self._weight = weight

    def __call__(self, method: MethodConfig, rounds: Rounds, rows: Rows) -> dict[str, Any]:
        pairs = zip(rows.token[rounds.loose_rows], rows.choice[rounds.loose_rows], strict=True)
        weighted = sum(self._weight(int(token), int(choice)) for token, choice in pairs)
        early = np.unique(rounds.loose_answer[rounds.loose_index < OPENING])
        return {
            "risk": 1000 * weighted / int(rounds.emitted.sum()),
            "opening": len(early) / len(rows.answers),
        }
