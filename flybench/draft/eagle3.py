"""EAGLE-3 drafts from the target's hidden states: a chain, or a tree of likely continuations.

Source: EAGLE-3 (arXiv 2503.01840) and its code (SafeAILab/EAGLE). After each round, the head reads
the target's hidden states at the accepted tokens, which replace its own predicted features. The
same pass predicts the first draft token. A draft is deterministic at any temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

from flybench.core.declare import drafter, parameter
from flybench.core.drafts import Branches, Draft, TargetView
from flybench.core.verdicts import Decision
from flybench.draft.base import DraftSetup
from flybench.draft.captured import CapturedPass, PairPass
from flybench.draft.tree import Level, grow_tree
from flybench.engine.base import upload

# A prompt is read in chunks: as many wide ones as it fills, then narrow ones. Every width needs its
# own captured graph, so there are only two.
CHUNKS = (512, 128)
T = TypeVar("T")


@drafter("eagle3", model="head")
class Eagle3Drafter:
    """Drafts `k` tokens with an EAGLE-3 head: a chain, or the best `k` nodes of a tree.

    With `tree_depth` > 0, the best `tree_top_k` nodes of that many levels after the root's children
    are expanded. The head reads pairs of a token and the feature of the token before it.
    """

    setup: DraftSetup
    tree_depth: int = parameter(
        default=0,
        low=0,
        unit="levels",
        only_with="tree_depth",
        label="depth",
        help="0 drafts a chain",
    )
    tree_top_k: int = parameter(
        default=10,
        low=1,
        unit="nodes",
        only_with="tree_depth",
        label="top_k",
        help="nodes expanded at each level, and their children",
    )

    def __post_init__(self) -> None:
        model, k = self.setup.head, self.setup.k
        # A captured chunk of a prompt may be padded, and its padding is written after the text.
        self._model = model = model.reserve(max(k + 1 + self._scratch, min(CHUNKS)))
        self._head = model.head
        self._prompts: dict[int, CapturedPass[tuple[Tensor, Tensor]]] = {}
        self._captured_draft: CapturedPass[tuple[Tensor, ...]] | None = None
        if model.captured:
            widths = [width for width in CHUNKS if width <= model.slots]
            self._prompts = {width: CapturedPass(model, width, self._read) for width in widths}
            self._captured_draft = CapturedPass(model, k + 1, self._tensors)

    @property
    def _scratch(self) -> int:
        """The number of cache slots after the text that drafting uses."""
        return self.tree_depth * self.tree_top_k or self.setup.k

    def start(
        self, prompt_ids: Sequence[int], taps: Tensor | None, generator: torch.Generator | None
    ) -> None:
        assert taps is not None, "the target of this drafter is tapped"
        self._stable = 0  # cached pairs with features of the target
        ids = prompt_ids[1:]
        while (left := len(ids) - 1 - self._stable) > 0:
            widths = list(self._prompts) or [max(CHUNKS)]
            width = next((width for width in widths if left >= width), widths[-1])
            part = slice(self._stable, self._stable + min(width, left))
            self._over(self._prompts.get(width), self._read, ids[part], taps[part])
        self._pending = ids[self._stable :], taps[self._stable :]

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        ids, taps = self._pending
        if not limit or not ids:  # a text of one token has no feature
            return Draft.chain(torch.zeros(0, dtype=torch.long, device=self._model.device))
        tokens, parents, *ancestors = self._over(self._captured_draft, self._tensors, ids, taps)
        return Draft(tokens, parents, branches=Branches(*ancestors) if ancestors else None)

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        assert view.taps is not None, "the target of this drafter is tapped"
        rows = [0, *(node + 1 for node in decision.nodes)][: len(decision.tokens)]
        taps = view.taps()
        if rows == list(range(len(rows))):
            taps = taps[: len(rows)]
        else:
            taps = taps.index_select(0, upload(rows, self._model.device))
        self._pending = decision.tokens, taps

    def _over(
        self, captured: CapturedPass[T] | None, work: PairPass[T], ids: Sequence[int], taps: Tensor
    ) -> T:
        """Run `work`, or its capture if there is one, on pairs that become stable."""
        base, count = self._stable, len(ids)
        self._stable += count
        if captured is not None:
            return captured(ids, taps, base)
        device = self._model.device
        numbers, live = upload([base, count], device), self._stable + self._scratch
        return work(upload(ids, device), taps, numbers[:1], numbers[1:], live)

    @torch.inference_mode()
    def _tensors(
        self, ids: Tensor, taps: Tensor, base: Tensor, count: Tensor, live: int
    ) -> tuple[Tensor, ...]:
        """Return tokens, parents and, for a tree, ancestors of a draft after the valid pairs."""
        features, normed = self._read(ids, taps, base, count, live)
        last, end = count - 1, base + count
        feature, scored = features.index_select(0, last), normed.index_select(0, last)
        grow = self._tree if self.tree_depth else self._chain
        return grow(feature, scored, end, live)

    def _read(
        self, ids: Tensor, taps: Tensor, base: Tensor, count: Tensor, live: int
    ) -> tuple[Tensor, Tensor]:
        """Read pairs with features of the target."""
        return self._model.read(ids, self._head.fuse(taps), base, live)

    def _chain(
        self, features: Tensor, scored: Tensor, end: Tensor, live: int
    ) -> tuple[Tensor, ...]:
        tokens = [self._model.predict(scored)]
        for step in range(self.setup.k - 1):
            features, scored = self._model.read(tokens[-1], features, end + step, live)
            tokens.append(self._model.predict(scored))
        drafted = torch.cat(tokens)
        return drafted, Draft.chain(drafted).parents

    def _tree(self, features: Tensor, scored: Tensor, end: Tensor, live: int) -> tuple[Tensor, ...]:
        top_k, device = self.tree_top_k, self._model.device
        text = (torch.arange(live, device=device) < end).expand(top_k, -1)

        def expand(number: int, level: Level) -> tuple[Tensor, Tensor]:
            tree = end + torch.arange(level.seen.shape[1], device=device)
            seen = text.index_copy(1, tree, level.seen)
            ids, slots = self._head.in_target(level.ids), tree[-top_k:]
            positions = (end + number).expand(top_k)
            following, scored = self._model.read_level(ids, level.features, positions, slots, seen)
            return following, self._head.score(scored)

        logits = self._head.score(scored)[0]
        tree = grow_tree(features[0], logits, expand, self.setup.k, self.tree_depth, top_k)
        ids, parents = tree
        return self._head.in_target(ids), parents, Branches.of(parents).ancestors
