"""The nouns that every stage shares; nothing here loads, prints or decides.

A `Prompt` is decoded round by round (`Draft` → `TargetView` → `Verdict` → `Decision`) into a
`Generation`; the generations of one sample make a `Record`; a task turns a record into a `Score`,
by a rule or from the `Judgement`s of a model.
"""

from __future__ import annotations

from flybench.core.drafts import Branches, Draft, RowStatistics, TargetView
from flybench.core.errors import FlybenchError
from flybench.core.judgements import AGREEMENT, HIGHEST, LOWEST, Judgement
from flybench.core.samples import (
    PAIRWISE,
    CardState,
    Finish,
    Generation,
    Loosened,
    Message,
    Prompt,
    Record,
    Score,
    Telemetry,
)
from flybench.core.traces import RowTrace, top3_entropy
from flybench.core.verdicts import (
    ACCEPTED_FATES,
    FATE_CODES,
    Decision,
    Fate,
    Opinion,
    Round,
    Verdict,
)

__all__ = [
    "ACCEPTED_FATES",
    "AGREEMENT",
    "Branches",
    "CardState",
    "Decision",
    "Draft",
    "FATE_CODES",
    "Fate",
    "Finish",
    "FlybenchError",
    "Generation",
    "HIGHEST",
    "Judgement",
    "LOWEST",
    "Loosened",
    "Message",
    "Opinion",
    "PAIRWISE",
    "Prompt",
    "Record",
    "Round",
    "RowStatistics",
    "RowTrace",
    "Score",
    "TargetView",
    "Telemetry",
    "Verdict",
    "top3_entropy",
]
