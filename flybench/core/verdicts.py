"""What a verifier decides, on the device and on the host, and what a round leaves behind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Tensor

from flybench.core.drafts import Draft, TargetView
from flybench.core.errors import FlybenchError
from flybench.core.traces import RowTrace

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
class Opinion:
    """What the target thinks of a token that it would not have chosen.

    Its favourite id instead, the probabilities of the token and of the favourite, the token's rank
    (1 = the favourite), and the entropy in nats, all of the softmax at temperature 1.
    """

    preferred: int
    probability: float
    max_probability: float
    rank: int
    entropy: float

    @classmethod
    def rows(cls, draft: Draft, view: TargetView) -> Tensor:
        """The opinion of every node of a chain as fp32 numbers [N, 5], on the device."""
        logits, statistics = view.logits[:-1], view.statistics
        own = logits.gather(1, draft.tokens[:, None])
        parts = (
            statistics.choice[:-1],
            (own.squeeze(1) - statistics.log_normaliser[:-1]).exp(),
            statistics.top_probabilities[:-1, 0],
            1 + (logits > own).sum(1),
            statistics.entropy[:-1],
        )
        return torch.stack([part.float() for part in parts], 1)

    @classmethod
    def of(cls, row: Sequence[float]) -> Opinion:
        """One of these rows on the host."""
        preferred, probability, most, rank, entropy = row
        return cls(int(preferred), probability, most, int(rank), entropy)


class Decision(NamedTuple):
    """A verdict on the host: plain numbers, at the price of the round's one synchronisation.

    `nodes` are the accepted drafted nodes from the root down, `tokens` the ids to emit (theirs and
    then the target's own), `fates` one letter a drafted node, `margins` the target's top-2 logit
    gap at each emitted token, `opinions` the target's of each node that only a loose rule kept,
    `traces` its law at every row, where a run keeps them.
    """

    nodes: list[int]
    tokens: list[int]
    fates: str
    margins: list[float]
    opinions: tuple[Opinion, ...] = ()
    traces: tuple[RowTrace, ...] = ()

    @property
    def path(self) -> list[int]:
        """The nodes to commit: the last emitted token is the next root and stays out of caches."""
        return self.nodes[: len(self.tokens) - 1]

    @property
    def loosened(self) -> list[int]:
        """Which of the emitted tokens only a loose rule kept."""
        return [i for i, node in enumerate(self.nodes) if self.fates[node] == Fate.LOOSE.code]

    @property
    def loose(self) -> int:
        return len(self.loosened)

    def truncated(self, emitted: int) -> Decision:
        """The same decision when only its first `emitted` (≥ 1) tokens are kept."""
        cut = self._replace(
            nodes=self.nodes[:emitted], tokens=self.tokens[:emitted], margins=self.margins[:emitted]
        )
        if not self.opinions:
            return cut
        return cut._replace(opinions=self.opinions[: cut.loose])


@dataclass(frozen=True)
class Verdict:
    """A verifier's judgement, still on the device.

    `accepted` [] is m; the first m entries of `path` [N] are the accepted nodes; `next_token` [] is
    the correction or the bonus; `fates` [N] int64 holds a `Fate` for each node. `opinions` is the
    tensor of `Opinion.rows`, from a rule that keeps what the target would not have chosen; `traces`
    that of `RowTrace.rows`, where a run keeps them; `packed` that of `pack`, with all of these in
    it, where the engine has already computed it.
    """

    accepted: Tensor
    path: Tensor
    next_token: Tensor
    fates: Tensor
    opinions: Tensor | None = None
    traces: Tensor | None = None
    packed: Tensor | None = None

    def pack(self, draft: Draft, view: TargetView) -> Tensor:
        """All that the host needs in one fp32 tensor, which holds ids below 2**24 exactly."""
        head = torch.stack([self.accepted, self.next_token])
        parts = [part.float() for part in (head, self.path, draft.tokens, self.fates)]
        more = [rows.flatten() for rows in (self.traces, self.opinions) if rows is not None]
        return torch.cat([*parts, view.statistics.margins, *more])

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
        decision = Decision(
            nodes=nodes,
            tokens=[*(int(packed[tokens + node]) for node in nodes), int(packed[1])],
            fates="".join(FATE_CODES[int(fate)] for fate in packed[fates:rows]),
            margins=margins,
        )
        more = rows + size + 1
        if self.traces is not None:
            width = len(RowTrace._fields)
            starts = range(more, more + width * (size + 1), width)
            traces = tuple(RowTrace(*packed[start : start + width]) for start in starts)
            decision, more = decision._replace(traces=traces), starts.stop
        if more == len(packed):
            return decision
        width = len(fields(Opinion))
        places = (more + width * nodes[i] for i in decision.loosened)
        opinions = tuple(Opinion.of(packed[place : place + width]) for place in places)
        return decision._replace(opinions=opinions)


@dataclass(frozen=True, slots=True)
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
