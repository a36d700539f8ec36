"""Trees on the graph engine: scoring a tree and keeping a path are one graph each."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from flybench.core.drafts import Branches, Draft, TargetView
from flybench.engine.base import upload
from flybench.engine.graph.model import GraphModel


class TreePass:
    """A pass for trees of `nodes`; the addresses of `draft` and `view` are static."""

    def __init__(self, model: GraphModel, nodes: int) -> None:
        self._model = model
        size, device = nodes + 1, model.device
        self._rooted = torch.ones(size, size, dtype=torch.bool, device=device).tril()
        self.draft = Draft(
            model.input_buffer[2 : 2 + nodes],
            torch.arange(-1, nodes - 1, device=device),
            branches=Branches(self._rooted[1:, 1:]),
        )
        self._program = model.tree_pass(self._rooted)
        self.view = self._program().view(nodes)
        self._moves = torch.arange(nodes, device=device)
        self._compact = model.compaction(self._moves)

    def score(self, root: int, draft: Draft) -> TargetView:
        assert draft.branches is not None, "a chain is scored without masks"
        self._model.load([root], len(self._rooted))
        self.draft.tokens.copy_(draft.tokens)
        self.draft.parents.copy_(draft.parents)
        self._rooted[1:, 1:] = draft.branches.ancestors
        self._program()
        return self.view

    def keep(self, path: Sequence[int]) -> None:
        """Compact the nodes of `path` in the cache."""
        if list(path) != list(range(len(path))):
            self._moves[: len(path)] = upload(path, self._model.device)
            self._compact()
