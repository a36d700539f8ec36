"""Prompt, generation, record and score of a sample.

`Record`, `Score` and the types of their fields are msgspec structs, stored as lines of JSON in a
run's folder. `gc=False` marks those without containers, which the garbage collector need not
track. A key on disk is the field's name, or an older name given by `rename`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import msgspec

from flybench.core.token_classes import classify

Message = dict[str, str]
"""A chat message: ``{"role": "user" | "assistant" | "system", "content": text}``."""

Finish = Literal["eos", "stop", "length"]
# The metric of a score that compares the answer with AR's: 1 better, 0.5 tie, 0 worse.
PAIRWISE = "pairwise"


@dataclass(frozen=True)
class Prompt:
    """One sample of a task.

    `messages` is the conversation up to the first answer. If its last message is the assistant's,
    the model continues that message, and `followups` must be empty. Each of `followups` is a
    further user message, sent after the method's own previous answer. `references` are correct
    answers, one per turn, or empty; only a judge reads them.
    """

    sample_id: str
    messages: tuple[Message, ...]
    category: str
    max_new_tokens: int
    followups: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


class TargetStatistics(msgspec.Struct, frozen=True, gc=False, rename={"top1": "preferred"}):
    """The target's statistics of a token that is not its top-1.

    `top1` is the id of the target's top-1, `probability` is p(token), `max_probability` is p(top1),
    `rank` is the token's rank (1 for `top1`), and `entropy` is in nats. All are of the softmax at
    temperature 1.
    """

    top1: int
    probability: float
    max_probability: float
    rank: int
    entropy: float


LOOSE_KEYS = {"index": "place", "statistics": "opinion", "top1_text": "preferred_text"}


class LooseToken(msgspec.Struct, frozen=True, gc=False, rename=LOOSE_KEYS):
    """A mismatch that a loose rule accepted, at `index` (0-based) of its answer's ids.

    `text` is the text of the token, and `top1_text` that of the target's top-1. `start` is the
    number of characters of the answer before the token. `copied` is True if the top-1 would have
    continued a verbatim copy. Both are None in older records.
    """

    index: int
    statistics: TargetStatistics
    text: str = ""
    top1_text: str = ""
    start: int | None = None
    copied: bool | None = None


class RowTrace(NamedTuple):
    """Statistics of the target's distribution in one row of a round, at temperature 1.

    `token` is the draft id that the row verifies, −1 in the last row of a round, which verifies
    none. `choice` is the target's top-1 id. `entropy` is the entropy of the softmax, and
    `top3_entropy` the sum of −p ln p over its three largest probabilities, both in nats.
    `probability` is p of the draft token, NaN without one. `draft_probability` is q of the
    draft token, NaN if the drafter is deterministic.
    """

    token: float
    choice: float
    entropy: float
    top3_entropy: float
    probability: float
    max_probability: float
    draft_probability: float


class Round(msgspec.Struct, frozen=True, gc=False, rename={"outcomes": "fates"}):
    """One draft-verify round. Counts are of tokens after truncation; times are in seconds.

    `outcomes` has one letter (`Outcome.code`) for each draft token.
    """

    drafted: int
    accepted: int
    loose: int
    emitted: int
    outcomes: str
    draft_s: float
    verify_s: float
    other_s: float


GENERATION_KEYS = {"loose_tokens": "loosened", "assistant_prefix": "begun"}


class Generation(msgspec.Struct, frozen=True, rename=GENERATION_KEYS):
    """One answer. `ids` are the emitted tokens, including an end-of-sequence id.

    Times are in seconds. `traces` has `drafted` + 1 rows for every round if the run keeps them;
    they are stored in separate files and are empty when an answer is read from records.
    `assistant_prefix` is the beginning of the answer given by the prompt, which is not part of
    `text`. Older records have no loose tokens.
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
        # Checked here rather than in `Round`: large runs have millions of rounds.
        for each in self.rounds:
            if not 0 <= each.accepted <= each.drafted:
                raise ValueError("a round has more accepted tokens than draft tokens")
        if not 0 <= self.prefill_s <= self.total_s < math.inf:
            raise ValueError("the times of a generation are not valid durations")

    @property
    def decode_s(self) -> float:
        return self.total_s - self.prefill_s

    def token_class(self, token: LooseToken) -> str:
        """Return the class of a loose token of this answer (see `token_classes.CLASSES`)."""
        known = token.start is not None
        before = self.assistant_prefix + self.text[: token.start] if known else None
        return classify(token.text, token.top1_text, before, bool(token.copied))


class GpuState(msgspec.Struct, frozen=True):
    """The state of a GPU at the end of a sample, and the energy of the sample; None if unknown.

    `throttle` names the reasons for reduced clocks, and is empty without any.
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
        """The energy of all GPUs in joules; None if one of them does not report it."""
        known = [gpu.energy_j for gpu in self.gpus if gpu.energy_j is not None]
        return sum(known) if len(known) == len(self.gpus) else None

    @property
    def throttled(self) -> bool | None:
        """True if the clocks of any GPU were reduced; None if no GPU reports it."""
        known = [gpu.throttle for gpu in self.gpus if gpu.throttle is not None]
        return any(known) if known else None


class Record(msgspec.Struct, frozen=True):
    """The answers of one sample by one method, or the `error` that prevented them."""

    sample_id: str
    method: str
    category: str
    position: int  # in the order in which the methods decoded this sample, 0-based
    prompt_sha256: str
    turns: list[Generation] = []
    peak_memory_bytes: int | None = None
    error: str | None = None
    telemetry: Telemetry | None = None


class Score(msgspec.Struct, frozen=True):
    """The score of one record; `correct` is None if neither a rule nor a judge scores it.

    `metrics` has the value of every scoring rule in [0, 1], and `correct` is that of the main one.
    `judgements` are the keys of the verdicts behind a judge's score; older scores have none.
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
        """True if a model graded the answer; `correct` is then a fraction of the best grade."""
        return bool(self.judgements)
