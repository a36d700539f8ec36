"""What a verifier decides, on the device and on the host, and what a round leaves behind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Tensor

from flybench.core.drafts import Draft, TargetView
from flybench.core.errors import FlybenchError

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
