"""A verifier's decision: `Verdict` on the device, `Decision` on the host."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from flybench.core.drafts import Draft, TargetView
from flybench.core.errors import FlybenchError
from flybench.core.outcomes import ACCEPTED_OUTCOMES, OUTCOME_CODES, Outcome
from flybench.core.samples import RowTrace, TargetStatistics

ALL_OUTCOMES = frozenset(float(outcome) for outcome in Outcome)
ACCEPTED_CODES = frozenset(outcome.code for outcome in ACCEPTED_OUTCOMES)
STATISTICS = len(TargetStatistics.__struct_fields__)


class Decision(NamedTuple):
    """A verdict on the host, fetched in the round's only synchronisation.

    `nodes` are the accepted nodes, from the root down. `tokens` are the ids to emit: those of
    `nodes`, then the target's own. `outcomes` has one letter per draft node. `margins` is the
    target's top-2 logit gap at each emitted token. `loose_statistics` are the target's statistics
    of each loose token, and `traces` those of every row, if the run keeps them.
    """

    nodes: list[int]
    tokens: list[int]
    outcomes: str
    margins: list[float]
    loose_statistics: tuple[TargetStatistics, ...] = ()
    traces: tuple[RowTrace, ...] = ()

    @property
    def path(self) -> list[int]:
        """The nodes to commit; the last emitted token is the next root and is not cached."""
        return self.nodes[: len(self.tokens) - 1]

    @property
    def loose_indices(self) -> list[int]:
        """Indices of the emitted tokens that are loose."""
        return [i for i, node in enumerate(self.nodes) if self.outcomes[node] == Outcome.LOOSE.code]

    @property
    def loose(self) -> int:
        """The number of loose tokens."""
        return len(self.loose_indices)

    def truncated(self, emitted: int) -> Decision:
        """Return the decision truncated to its first `emitted` (≥ 1) tokens."""
        cut = self._replace(
            nodes=self.nodes[:emitted], tokens=self.tokens[:emitted], margins=self.margins[:emitted]
        )
        if not self.loose_statistics:
            return cut
        return cut._replace(loose_statistics=self.loose_statistics[: cut.loose])


@dataclass(frozen=True)
class Verdict:
    """A verifier's verdict on the device.

    `accepted` [] is m; the first m entries of `path` [N] are the accepted nodes; `next_token` [] is
    the correction or the bonus token; `outcomes` [N] int64 has an `Outcome` for each node. Optional
    are `loose_statistics` [N, 5] (see `target_statistics`), `traces` [N+1, 7] (rows of `RowTrace`),
    and `packed`, the result of `pack` if the engine has already computed it.
    """

    accepted: Tensor
    path: Tensor
    next_token: Tensor
    outcomes: Tensor
    loose_statistics: Tensor | None = None
    traces: Tensor | None = None
    packed: Tensor | None = None

    def pack(self, draft: Draft, view: TargetView) -> Tensor:
        """Concatenate all fields into one fp32 tensor, which is exact for ids below 2**24."""
        head = torch.stack([self.accepted, self.next_token])
        parts = [part.float() for part in (head, self.path, draft.tokens, self.outcomes)]
        more = [rows.flatten() for rows in (self.traces, self.loose_statistics) if rows is not None]
        return torch.cat([*parts, view.statistics.margins, *more])

    def fetch(self, draft: Draft, view: TargetView) -> Decision:
        """Copy the verdict to the host, which is the only synchronisation of a round.

        Raises:
            FlybenchError: the target's logits are NaN, or the verdict contradicts itself.
        """
        if self.outcomes.shape != draft.tokens.shape:
            raise FlybenchError(
                f"the rule returned outcomes of shape {list(self.outcomes.shape)} for "
                f"{len(draft)} draft tokens: return one per token."
            )
        tensor = self.pack(draft, view) if self.packed is None else self.packed
        packed = tensor.tolist()
        count, size = int(packed[0]), len(draft)
        path, tokens, outcomes, rows = (2 + i * size for i in range(4))
        letters = "".join(_code(value) for value in packed[outcomes:rows])
        nodes = [int(node) for node in packed[path : path + max(count, 0)]]
        _check(count, nodes, letters)
        margins = [packed[rows], *(packed[rows + 1 + node] for node in nodes)]
        if any(map(math.isnan, margins)):
            raise FlybenchError(
                "the target's logits are NaN: try another engine.dtype, or check the weights."
            )
        decision = Decision(
            nodes=nodes,
            tokens=[*(int(packed[tokens + node]) for node in nodes), int(packed[1])],
            outcomes=letters,
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
        starts_of_loose = (more + STATISTICS * nodes[i] for i in decision.loose_indices)
        statistics = tuple(_statistics(packed[at : at + STATISTICS]) for at in starts_of_loose)
        return decision._replace(loose_statistics=statistics)


def _code(outcome: float) -> str:
    return OUTCOME_CODES[int(outcome)] if outcome in ALL_OUTCOMES else "?"


def _check(count: int, nodes: list[int], letters: str) -> None:
    """Check what a rule returned, which may be a user's.

    Raises:
        FlybenchError: the verdict contradicts itself.
    """
    size = len(letters)
    if not 0 <= count <= size or not all(0 <= node < size for node in nodes):
        raise FlybenchError(
            f"the rule accepted {count} of {size} draft tokens, in positions {nodes}: return "
            "`accepted` between 0 and the number of draft tokens."
        )
    if "?" in letters or not all(letters[node] in ACCEPTED_CODES for node in nodes):
        raise FlybenchError(
            f"the rule's outcomes {letters!r} contradict the accepted positions {nodes}: give each "
            "draft token an `Outcome`, and accepted ones EXACT, LOOSE or SAMPLED."
        )


def target_statistics(draft: Draft, view: TargetView) -> Tensor:
    """Return the fields of `TargetStatistics` for every node of a chain, fp32 [N, 5]."""
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


def _statistics(row: Sequence[float]) -> TargetStatistics:
    """Convert one row of `target_statistics`."""
    top1, probability, most, rank, entropy = row
    return TargetStatistics(int(top1), probability, most, int(rank), entropy)
