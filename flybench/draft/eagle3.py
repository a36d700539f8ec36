"""EAGLE-3 drafts: a chain, or a tree of the likeliest continuations, from the target's own states.

Source: EAGLE-3 (arXiv 2503.01840) and its code (SafeAILab/EAGLE). After each round the target's
hidden states of what was kept replace the head's own guesses at them; reading these is also what
predicts the first drafted token. A draft is deterministic at any temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from flybench.core import Branches, Decision, Draft, TargetView
from flybench.draft.tree import Level, grow_tree
from flybench.engine.base import upload
from flybench.engine.eagle3.model import HeadModel
from flybench.engine.graph.capture import capture

# A prompt is read in pieces, because each piece attends to all before it at once.
PIECE = 512


@dataclass(frozen=True)
class Shape:
    """`nodes` drafted tokens: a chain, or with a `depth` a tree that expands `top_k` a level."""

    nodes: int
    depth: int = 0
    top_k: int = 0

    @property
    def scratch(self) -> int:
        """Slots that drafting takes behind the text."""
        return self.depth * self.top_k or self.nodes


class Inbox:
    """Where a captured draft finds what it reads: pairs behind `base` others, `count` of them."""

    def __init__(self, model: HeadModel, pairs: int) -> None:
        width, like = 3 * model.head.config.target_hidden_size, model.head.fc.weight
        self.ids = torch.zeros(pairs, dtype=torch.long, device=model.device)
        self.taps = like.new_zeros(pairs, width)
        self.base = torch.zeros(1, dtype=torch.long, device=model.device)
        self.count = torch.ones_like(self.base)

    def load(self, ids: Tensor, taps: Tensor, base: int) -> None:
        count = len(ids)
        self.ids[:count], self.taps[:count] = ids, taps
        self.base.fill_(base)
        self.count.fill_(count)


class Eagle3Drafter:
    """Drafts with a head; a pair is a token and the feature of the token before it."""

    def __init__(self, model: HeadModel, shape: Shape) -> None:
        self._model = model = model.reserve(shape.nodes + 1 + shape.scratch)
        self._head = model.head
        self._shape = shape
        self._program: Callable[[], Draft] | None = None
        if model.captured:
            self._inbox = box = Inbox(model, shape.nodes + 1)
            work = partial(self._tensors, box.ids, box.taps, box.base, box.count, model.slots)
            replay = capture(work, model.device)
            self._program = lambda: self._as_draft(replay())

    def start(
        self, prompt_ids: Sequence[int], taps: Tensor | None, generator: torch.Generator | None
    ) -> None:
        assert taps is not None, "the target of this drafter is tapped"
        self._stable = 0  # pairs in the cache whose features are the target's own
        ids = upload(prompt_ids[1:], self._model.device)
        for first in range(0, len(ids) - 1, PIECE):
            end = min(first + PIECE, len(ids) - 1)
            base = torch.full((1,), first, device=self._model.device)  # without waiting for it
            self._read(ids[first:end], taps[first:end], base, end)
            self._stable = end
        self._pending = ids[self._stable :], taps[self._stable :]

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        ids, taps = self._pending
        base, count = self._stable, len(ids)
        if not limit or not count:  # a text of one token has no feature yet
            return Draft.chain(ids[:0])
        self._stable = base + count
        if self._program is not None:
            self._inbox.load(ids, taps, base)
            return self._program()
        numbers = upload([base, count], self._model.device)
        live = self._stable + self._shape.scratch
        return self._as_draft(self._tensors(ids, taps, numbers[:1], numbers[1:], live))

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        assert view.taps is not None, "the target of this drafter is tapped"
        rows = [0, *(node + 1 for node in decision.nodes)][: len(decision.tokens)]
        index = upload(rows, self._model.device)
        ids = upload(decision.tokens, self._model.device)
        self._pending = ids, view.taps().index_select(0, index)

    @torch.inference_mode()
    def _tensors(
        self, ids: Tensor, taps: Tensor, base: Tensor, count: Tensor, live: int
    ) -> tuple[Tensor, ...]:
        """A draft as tokens, parents, and in a tree ancestors, after the pairs before `count`."""
        features, normed = self._read(ids, taps, base, live)
        last, end = count - 1, base + count
        feature, scored = features.index_select(0, last), normed.index_select(0, last)
        grow = self._tree if self._shape.depth else self._chain
        return grow(feature, scored, end, live)

    def _as_draft(self, tensors: tuple[Tensor, ...]) -> Draft:
        tokens, parents, *ancestors = tensors
        return Draft(tokens, parents, branches=Branches(*ancestors) if ancestors else None)

    def _read(self, ids: Tensor, taps: Tensor, base: Tensor, live: int) -> tuple[Tensor, Tensor]:
        """Read pairs with features of the target's own behind `base` others."""
        slots = base + torch.arange(len(ids), device=self._model.device)
        seen = torch.arange(live, device=self._model.device) <= slots[:, None]
        return self._model.read(ids, self._head.fuse(taps), slots, slots, seen)

    def _chain(
        self, features: Tensor, scored: Tensor, end: Tensor, live: int
    ) -> tuple[Tensor, ...]:
        columns = torch.arange(live, device=self._model.device)
        tokens = [self._head.score(scored).argmax(-1)]
        for step in range(self._shape.nodes - 1):
            slot, ids = end + step, self._head.in_target(tokens[-1])
            features, scored = self._model.read(ids, features, slot, slot, columns[None] <= slot)
            tokens.append(self._head.score(scored).argmax(-1))
        drafted = self._head.in_target(torch.cat(tokens))
        return drafted, Draft.chain(drafted).parents

    def _tree(self, features: Tensor, scored: Tensor, end: Tensor, live: int) -> tuple[Tensor, ...]:
        shape, device = self._shape, self._model.device
        text = (torch.arange(live, device=device) < end).expand(shape.top_k, -1)

        def expand(number: int, level: Level) -> tuple[Tensor, Tensor]:
            tree = end + torch.arange(level.seen.shape[1], device=device)
            seen = text.index_copy(1, tree, level.seen)
            ids, slots = self._head.in_target(level.ids), tree[-shape.top_k :]
            positions = (end + number).expand(shape.top_k)
            following, scored = self._model.read(ids, level.features, positions, slots, seen)
            return following, self._head.score(scored)

        logits = self._head.score(scored)[0]
        tree = grow_tree(features[0], logits, expand, shape.nodes, shape.depth, shape.top_k)
        ids, parents = tree
        return self._head.in_target(ids), parents, Branches.of(parents).ancestors
