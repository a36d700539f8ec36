"""A sample from its prompt to its score: what is asked, answered, recorded and scored.

`Record` and `Score`, and everything in them, are msgspec structs, because they are lines of JSON in
a run's folder. A key on disk is the field's name, or the older one given by `rename`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import msgspec

from flybench.core.token_classes import classify

Message = dict[str, str]
"""One chat message: ``{"role": "user" | "assistant" | "system", "content": text}``."""

Finish = Literal["eos", "stop", "length"]
# The metric of a score that compares the answer with AR's: 1 better, 0 worse, 0.5 otherwise.
PAIRWISE = "pairwise"


@dataclass(frozen=True)
class Prompt:
    """One sample of a task, before any model has seen it.

    `messages` is the conversation up to the first answer; a last message of the assistant is the
    prefix of that answer, which the model continues, and allows no followups. Each of `followups`
    is a further user message, asked after the method's own previous answer. `references` are right
    answers, one per turn, empty where the data have none; a judge reads them, the models never do.
    """

    sample_id: str
    messages: tuple[Message, ...]
    category: str
    max_new_tokens: int
    followups: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


class TargetStatistics(msgspec.Struct, frozen=True, rename={"top1": "preferred"}):
    """The target's view of a token that it would not have chosen.

    `top1` is the target's own choice instead, `probability` that of the token, `max_probability`
    that of `top1`, `rank` the token's rank (1 = `top1`) and `entropy` in nats; all of the softmax
    at temperature 1.
    """

    top1: int
    probability: float
    max_probability: float
    rank: int
    entropy: float


LOOSE_KEYS = {"index": "place", "statistics": "opinion", "top1_text": "preferred_text"}


class LooseToken(msgspec.Struct, frozen=True, rename=LOOSE_KEYS):
    """A token that only a loose rule kept, at `index` (from 0) of its answer's ids.

    `text` is the token's own and `top1_text` that of the target's choice, `start` the number of
    characters of the answer before it, and `copied` whether the target's choice would have
    continued a verbatim copy (both None in older records).
    """

    index: int
    statistics: TargetStatistics
    text: str = ""
    top1_text: str = ""
    start: int | None = None
    copied: bool | None = None


class RowTrace(NamedTuple):
    """The target's distribution after the root and the drafted tokens before one row of a round.

    `token` is the drafted id that the row verifies, −1 in the last row of a round, which verifies
    none; `choice` is the target's top-1 id; `entropy` is that of the softmax and `top3_entropy` the
    sum over its three largest probabilities of −p ln p, both in nats; `probability` is p of the
    drafted token, NaN without one; `draft_probability` is the drafter's q of its own token, NaN
    where it gives none. All at temperature 1.
    """

    token: float
    choice: float
    entropy: float
    top3_entropy: float
    probability: float
    max_probability: float
    draft_probability: float


class Round(msgspec.Struct, frozen=True, rename={"outcomes": "fates"}):
    """One draft-verify round. Counts are tokens kept after truncation; times are seconds.

    `outcomes` has one letter (`Outcome.code`) for each drafted token.
    """

    drafted: int
    accepted: int
    loose: int
    emitted: int
    outcomes: str
    draft_s: float
    verify_s: float
    other_s: float

    def __post_init__(self) -> None:
        if not 0 <= self.accepted <= self.drafted:
            raise ValueError("a round accepts more than it drafts")


GENERATION_KEYS = {"loose_tokens": "loosened", "assistant_prefix": "begun"}


class Generation(msgspec.Struct, frozen=True, rename=GENERATION_KEYS):
    """One answer. `ids` are the kept tokens, an end-of-sequence id included; times in seconds.

    `traces` has drafted + 1 rows for every round of a run that keeps them; they have files of their
    own, and an answer read back from records has none. `assistant_prefix` is the beginning of the
    answer that the prompt gave, before its `text`. Older records have no loose tokens.
    """

    prompt_tokens: int
    ids: list[int]
    text: str
    finish: Finish
    margins: list[float]
    rounds: list[Round]
    prefill_s: float
    first_token_s: float
    total_s: float
    loose_tokens: list[LooseToken] = []
    traces: list[RowTrace] = []
    assistant_prefix: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.prefill_s <= self.total_s < math.inf:
            raise ValueError("its times are no durations")

    @property
    def decode_s(self) -> float:
        return self.total_s - self.prefill_s

    def token_class(self, token: LooseToken) -> str:
        """The class of one of its loose tokens (`token_classes.CLASSES`)."""
        known = token.start is not None
        before = self.assistant_prefix + self.text[: token.start] if known else None
        return classify(token.text, token.top1_text, before, bool(token.copied))


class GpuState(msgspec.Struct, frozen=True):
    """One GPU at the end of a sample, and the joules that the sample took; None where unknown.

    `throttle` names what held the clocks down, empty if nothing did.
    """

    index: int
    sm_clock_mhz: int | None
    memory_clock_mhz: int | None
    power_w: float | None
    temperature_c: int | None
    throttle: list[str] | None
    energy_j: float | None


class Telemetry(msgspec.Struct, frozen=True, rename={"gpus": "cards"}):
    """The state of every GPU that a sample used."""

    gpus: list[GpuState]

    @property
    def energy_j(self) -> float | None:
        """Joules over all GPUs; None if one of them does not report."""
        known = [gpu.energy_j for gpu in self.gpus if gpu.energy_j is not None]
        return sum(known) if len(known) == len(self.gpus) else None

    @property
    def throttled(self) -> bool | None:
        """Whether any GPU's clocks were held down; None if no GPU reports it."""
        known = [gpu.throttle for gpu in self.gpus if gpu.throttle is not None]
        return any(known) if known else None


class Record(msgspec.Struct, frozen=True):
    """Everything measured of one sample under one method; `error` is set instead of `turns`."""

    sample_id: str
    method: str
    category: str
    position: int  # 0 if this method ran first of the pair, 1 if second
    prompt_sha256: str
    turns: list[Generation] = []
    peak_memory_bytes: int | None = None
    error: str | None = None
    telemetry: Telemetry | None = None


class Score(msgspec.Struct, frozen=True):
    """The score of one record; `correct` is None where nothing judges it.

    `metrics` holds every scoring rule's verdict in [0, 1]; `correct` repeats the task's main one.
    A score that a judging model gave names the keys of its `judgements`; older scores have none.
    """

    sample_id: str
    method: str
    correct: float | None
    metrics: dict[str, float]
    extracted: str | None = None
    reason: str = ""
    judgements: tuple[str, ...] = ()

    @property
    def graded(self) -> bool:
        """Whether a model graded the answer, so that `correct` is a share of the best grade."""
        return bool(self.judgements)
