"""What is asked, what comes back, and what is thought of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from flybench.core.traces import RowTrace
from flybench.core.verdicts import Opinion, Round

Message = dict[str, str]
"""One chat message: ``{"role": "user" | "assistant" | "system", "content": text}``."""

Finish = Literal["eos", "stop", "length"]
# Of a score's metrics, the one that compares the answer with AR's: 1 better, 0 worse, else 0.5.
PAIRWISE = "pairwise"


@dataclass(frozen=True)
class Prompt:
    """One sample of a task, before any model has seen it.

    `messages` is the conversation up to the first answer; a last one of the assistant is the
    beginning of that answer, which the model continues, and comes without followups. Each of
    `followups` is a further user message, asked after the method's own previous answer.
    `references` are right answers, one a turn, empty where the data have none; a judge reads them,
    the models never do.
    """

    sample_id: str
    messages: tuple[Message, ...]
    category: str
    max_new_tokens: int
    followups: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Loosened:
    """A token of an answer, at `place` from 0, that only a loose rule kept, and the target's
    opinion of it; the texts are the token's own and that of the target's favourite, `start` is how
    many characters of the answer precede it, and `copied` whether the favourite would have gone on
    with a copy (both None in older records). `kind` is its class, which no record keeps: it is
    found anew whenever one is read, and empty before."""

    place: int
    opinion: Opinion
    text: str = ""
    preferred_text: str = ""
    start: int | None = None
    copied: bool | None = None
    kind: str = field(default="", compare=False)


@dataclass(frozen=True)
class Generation:
    """One answer. `ids` are the kept tokens, an end-of-sequence id included; times in seconds.

    `traces` has drafted + 1 rows for every round, where a run keeps them; they have files of their
    own, so that an answer that is read back from records has none. `begun` is what the prompt made
    the answer begin with, before its `text`.
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
    loosened: list[Loosened] = field(default_factory=list)
    traces: list[RowTrace] = field(default_factory=list)
    begun: str = ""

    @property
    def decode_s(self) -> float:
        return self.total_s - self.prefill_s


@dataclass(frozen=True)
class CardState:
    """One card as a sample ended, and the joules that it took; None where it gives no answer.

    `throttle` names what held the clocks down, empty if nothing did.
    """

    index: int
    sm_clock_mhz: int | None
    memory_clock_mhz: int | None
    power_w: float | None
    temperature_c: int | None
    throttle: list[str] | None
    energy_j: float | None


@dataclass(frozen=True)
class Telemetry:
    """The state of every card that a sample used."""

    cards: list[CardState]

    @property
    def energy_j(self) -> float | None:
        """Joules over all cards; None if one of them gives no answer."""
        known = [card.energy_j for card in self.cards if card.energy_j is not None]
        return sum(known) if len(known) == len(self.cards) else None

    @property
    def throttled(self) -> bool | None:
        """Whether any card's clocks were held down; None if no card gives an answer."""
        known = [card.throttle for card in self.cards if card.throttle is not None]
        return any(known) if known else None


@dataclass(frozen=True)
class Record:
    """Everything measured of one sample under one method; `error` is set instead of `turns`."""

    sample_id: str
    method: str
    category: str
    position: int  # 0 if this method ran first of the pair, 1 if second
    prompt_sha256: str
    turns: list[Generation] = field(default_factory=list)
    peak_memory_bytes: int | None = None
    error: str | None = None
    telemetry: Telemetry | None = None


@dataclass(frozen=True)
class Score:
    """What a task's scorer says of one record; `correct` is None where nothing judges it.

    `metrics` holds every scoring rule's verdict in [0, 1]; `correct` repeats the task's main one.
    A score that a judging model gave names the keys of its `judgements`.
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
        """Whether a model graded the answer, so that `correct` is a share and no right or wrong."""
        return bool(self.judgements)
