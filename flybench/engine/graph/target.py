"""The target of a decode loop on the graph engine; scoring and the verdict take one launch each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor

from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Verdict
from flybench.engine.base import RoundVerifier
from flybench.engine.graph.capture import capture, compiles
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.tree import TreePass
from flybench.sampling import Sampling

GREEDY = Sampling()
# A verdict's accepted, path, next token, outcomes, traces, and all of them packed; the target
# statistics (None) are only in the packed part.
Parts = tuple[Tensor, Tensor, Tensor, Tensor, None, Tensor | None, Tensor]


class GraphTarget:
    """A target that scores drafts in passes of two widths: one token, and the root with a full
    draft.

    A shorter draft is padded; the cache and the view drop the padding. Trees, of `tree` nodes, are
    wider than chains.
    """

    def __init__(self, model: GraphModel, chain: int = 0, tree: int = 0) -> None:
        self._model = model
        self.device = model.device
        self._widest = chain + 1
        self._views = {nodes: self._view(nodes) for nodes in range(chain + 1)}
        self._tree = TreePass(model, tree) if tree else None
        self._branched = False

    def prepare(
        self, verifier: RoundVerifier, k: int, sampling: Sampling, tree: bool = False
    ) -> tuple[GraphTarget, RoundVerifier]:
        own = GraphTarget(self._model, **{"tree" if tree else "chain": k})
        if sampling.greedy:
            return own, CapturedVerifier(verifier, self._model, own._views, own._tree)
        # A draw needs fresh noise from a generator, which cannot be captured.
        return own, verifier if self._model.ranks == 1 else BroadcastVerifier(verifier)

    def prefill(self, ids: Sequence[int]) -> Tensor | None:
        self._model.prefill(ids)
        return self._model.prompt_taps()

    def score(self, root: int, draft: Draft) -> TargetView:
        self._branched = draft.branches is not None
        if self._branched:
            assert self._tree is not None, "the target was prepared for trees"
            return self._tree.score(root, draft)
        nodes = len(draft)
        width = self._width(nodes)
        self._model.load([root], width)
        self._model.input_buffer[2 : 2 + nodes].copy_(draft.tokens, non_blocking=True)
        self._model.pass_of(width)()
        return self._views[nodes]

    def commit(self, path: Sequence[int]) -> None:
        if self._branched and self._tree is not None:
            self._tree.keep(path)
        self._model.advance(1 + len(path))

    def _width(self, nodes: int) -> int:
        return self._widest if nodes else 1

    def _view(self, nodes: int) -> TargetView:
        """Return the first rows of a pass, whose addresses are the same after each replay."""
        return self._model.pass_of(self._width(nodes))().view(nodes)


class CapturedVerifier:
    """A greedy verifier and the packing of its verdict, one graph for each length of draft.

    A rule is a few dozen small operations. For empty and full drafts, which are the most frequent,
    they are compiled before they are captured.
    """

    def __init__(
        self,
        verifier: RoundVerifier,
        model: GraphModel,
        views: dict[int, TargetView],
        tree: TreePass | None,
    ) -> None:
        input_buffer = model.input_buffer

        def decide(draft: Draft, view: TargetView) -> Parts:
            found = verifier.judge(draft, view, GREEDY, None)
            return (
                found.accepted,
                found.path,
                found.next_token,
                found.outcomes,
                None,
                found.traces,
                found.pack(draft, view),
            )

        fused = torch.compile(decide, fullgraph=True, dynamic=False)
        if not compiles(input_buffer.device):
            fused = decide

        def work(often: bool, draft: Draft, view: TargetView) -> Parts:
            found = (fused if often else decide)(draft, view)
            if model.ranks > 1:
                dist.broadcast(found[-1], src=0)
            return found

        full = max(views)
        self._programs = {}
        for nodes, view in views.items():
            draft = Draft.chain(input_buffer[2 : 2 + nodes])
            program = partial(work, nodes in (0, full), draft, view)
            self._programs[nodes] = capture(program, input_buffer.device)
        if tree is not None:
            program = partial(work, True, tree.draft, tree.view)
            self._on_tree = capture(program, input_buffer.device)

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        return Verdict(*(self._on_tree if draft.branches else self._programs[len(draft)])())


class BroadcastVerifier:
    """A verifier whose verdict every rank takes from rank 0."""

    def __init__(self, verifier: RoundVerifier) -> None:
        self._verifier = verifier

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        verdict = self._verifier.judge(draft, view, sampling, generator)
        packed = verdict.pack(draft, view)
        dist.broadcast(packed, src=0)
        return replace(verdict, packed=packed)
