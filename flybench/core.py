"""The nouns that every stage shares; nothing here loads, prints or decides.

A `Prompt` is decoded round by round (`Draft` → `TargetView` → `Verdict` → `Decision`) into a
`Generation`; the generations of one sample make a `Record`; a task turns a record into a `Score`.

Shapes: N = drafted nodes, V = vocabulary, m = accepted nodes. Batch is always 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, NamedTuple

import torch
from torch import Tensor

Message = dict[str, str]
"""One chat message: ``{"role": "user" | "assistant" | "system", "content": text}``."""

Finish = Literal["eos", "stop", "length"]


class FlybenchError(Exception):
    """A problem that the user can solve; its text is one sentence with the remedy."""


FATE_CODES = ".elsgwtr"


class Fate(IntEnum):
    """What became of one drafted token."""

    UNVISITED = 0  # after the first rejection, or on a branch not taken
    EXACT = 1  # equals the target's own choice
    LOOSE = 2  # differs, and a loose rule kept it
    STOCHASTIC = 3  # kept by rejection sampling
    GATE = 4  # rejected: the target is sure here
    WINDOW = 5  # rejected: the target disagrees again within the window
    TAIL = 6  # rejected: the window does not fit in the draft
    REJECTED = 7  # rejected by a rule that gives no reason

    @property
    def code(self) -> str:
        """One letter, as records store it."""
        return FATE_CODES[self]


ACCEPTED_FATES = (Fate.EXACT, Fate.LOOSE, Fate.STOCHASTIC)


@dataclass(frozen=True)
class Prompt:
    """One sample of a task, before any model has seen it.

    `messages` is the conversation up to the first answer; each of `followups` is a further user
    message, asked after the method's own previous answer.
    """

    sample_id: str
    messages: tuple[Message, ...]
    category: str
    max_new_tokens: int
    followups: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()


class Branches(NamedTuple):
    """The shape of a draft that is no chain: `ancestors` [N, N] bool has each node's path in its
    row, itself included; siblings differ in their tokens."""

    ancestors: Tensor

    @classmethod
    def of(cls, parents: Tensor) -> Branches:
        """From parents [N], −1 for a child of the root; nothing waits for the device."""
        size = parents.shape[0]
        nodes = torch.arange(size, device=parents.device)
        paths = (nodes[:, None] == nodes) | (parents[:, None] == nodes)
        for _ in range(max(size - 1, 1).bit_length()):  # each turn doubles the reach
            paths = (paths.float() @ paths.float()) > 0
        return cls(paths)


@dataclass(frozen=True)
class Draft:
    """Proposed tokens as a tree whose root is the last committed token.

    `tokens` [N] int64; `parents` [N] int64, −1 for a child of the root, always before the child;
    `probs` [N, V] is the law that each token was sampled from, None for a deterministic choice;
    `branches` is None for a chain.
    """

    tokens: Tensor
    parents: Tensor
    probs: Tensor | None = None
    branches: Branches | None = None

    @classmethod
    def chain(cls, tokens: Tensor, probs: Tensor | None = None) -> Draft:
        """A draft without branches: every token is the child of the one before it."""
        parents = torch.arange(-1, tokens.shape[0] - 1, device=tokens.device)
        return cls(tokens, parents, probs)

    def __len__(self) -> int:
        return self.tokens.shape[0]

    def to(self, device: torch.device) -> Draft:
        """The same draft where the target can judge it."""
        if self.tokens.device == device:
            return self
        probs = None if self.probs is None else self.probs.to(device)
        branches = self.branches and Branches(self.branches.ancestors.to(device))
        return Draft(self.tokens.to(device), self.parents.to(device), probs, branches)


class RowStatistics(NamedTuple):
    """What rules ask of rows of logits [R, V], so that V-wide tensors are read only once.

    `choice` [R] int64 is the argmax, `top` [R, 3] the three largest logits in falling order,
    `log_normaliser` [R] the log of the sum of exp(logit), `entropy` [R] that of the softmax, nats.
    """

    choice: Tensor
    top: Tensor
    log_normaliser: Tensor
    entropy: Tensor

    @classmethod
    def of(cls, logits: Tensor) -> RowStatistics:
        """Computed from fp32 logits [R, V]; fewer than three words leave `top` narrower."""
        top = logits.topk(min(3, logits.shape[-1]), dim=-1)
        log_normaliser = logits.logsumexp(-1)
        law = (logits - log_normaliser[:, None]).exp()
        return cls(
            # argmax, not topk, for the first of equal logits: what greedy decoding means everywhere
            choice=logits.argmax(-1),
            top=top.values,
            log_normaliser=log_normaliser,
            entropy=torch.special.entr(law).sum(-1),
        )

    @property
    def top_probabilities(self) -> Tensor:
        """The three largest probabilities [R, 3]; the first is max p."""
        return (self.top - self.log_normaliser[:, None]).exp()

    @property
    def margins(self) -> Tensor:
        """The gap between the two largest logits [R]."""
        return self.top[:, 0] - self.top[:, 1]


@dataclass(frozen=True)
class TargetView:
    """What the target says of a draft: `logits` [N+1, V] fp32, row 0 = root, row i+1 = node i.

    `statistics` are the rows', which engines compute in the same pass; `taps` gives hidden states
    of the same rows [N+1, 3 · H], where a drafter asked for them.
    """

    logits: Tensor
    statistics: RowStatistics
    taps: Callable[[], Tensor] | None = None

    @classmethod
    def of(cls, logits: Tensor, taps: Callable[[], Tensor] | None = None) -> TargetView:
        """A view with the statistics of its own logits."""
        return cls(logits, RowStatistics.of(logits), taps)


class Decision(NamedTuple):
    """A verdict on the host: plain numbers, at the price of the round's one synchronisation.

    `nodes` are the accepted drafted nodes from the root down, `tokens` the ids to emit (theirs and
    then the target's own), `fates` one letter a drafted node, `margins` the target's top-2 logit
    gap at each emitted token.
    """

    nodes: list[int]
    tokens: list[int]
    fates: str
    margins: list[float]

    @property
    def path(self) -> list[int]:
        """The nodes to commit: the last emitted token is the next root and stays out of caches."""
        return self.nodes[: len(self.tokens) - 1]

    @property
    def loose(self) -> int:
        return sum(self.fates[node] == Fate.LOOSE.code for node in self.nodes)

    def truncated(self, emitted: int) -> Decision:
        """The same decision when only its first `emitted` (≥ 1) tokens are kept."""
        return Decision(
            self.nodes[:emitted], self.tokens[:emitted], self.fates, self.margins[:emitted]
        )


@dataclass(frozen=True)
class Verdict:
    """A verifier's judgement, still on the device.

    `accepted` [] is m; the first m entries of `path` [N] are the accepted nodes; `next_token` [] is
    the correction or the bonus; `fates` [N] int64 holds a `Fate` for each node. `packed` is the
    tensor of `pack` where the engine has already computed it.
    """

    accepted: Tensor
    path: Tensor
    next_token: Tensor
    fates: Tensor
    packed: Tensor | None = None

    def pack(self, draft: Draft, view: TargetView) -> Tensor:
        """All that the host needs in one fp32 tensor, which holds ids below 2**24 exactly."""
        head = torch.stack([self.accepted, self.next_token])
        parts = [part.float() for part in (head, self.path, draft.tokens, self.fates)]
        return torch.cat([*parts, view.statistics.margins])

    def fetch(self, draft: Draft, view: TargetView) -> Decision:
        """Copy the verdict to the host: the one synchronisation of a round."""
        tensor = self.pack(draft, view) if self.packed is None else self.packed
        packed = tensor.tolist()
        count, size = int(packed[0]), len(draft)
        path, tokens, fates, rows = (2 + i * size for i in range(4))
        nodes = [int(node) for node in packed[path : path + count]]
        margins = [packed[rows], *(packed[rows + 1 + node] for node in nodes)]
        if any(map(math.isnan, margins)):
            raise FlybenchError(
                "The target's logits are not numbers (NaN): try another engine.dtype, or check "
                "the weights."
            )
        return Decision(
            nodes=nodes,
            tokens=[*(int(packed[tokens + node]) for node in nodes), int(packed[1])],
            fates="".join(FATE_CODES[int(fate)] for fate in packed[fates:rows]),
            margins=margins,
        )


@dataclass(frozen=True)
class Round:
    """One draft-verify round. Counts are tokens kept after truncation; times are seconds."""

    drafted: int
    accepted: int
    loose: int
    emitted: int
    fates: str
    draft_s: float
    verify_s: float
    other_s: float


@dataclass(frozen=True)
class Generation:
    """One answer. `ids` are the kept tokens, an end-of-sequence id included; times in seconds."""

    prompt_tokens: int
    ids: list[int]
    text: str
    finish: Finish
    margins: list[float]
    rounds: list[Round]
    prefill_s: float
    first_token_s: float
    total_s: float

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
    """

    sample_id: str
    method: str
    correct: float | None
    metrics: dict[str, float]
    extracted: str | None = None
    reason: str = ""
