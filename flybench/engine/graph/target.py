"""The target of a decode loop on the graph engine: scoring and the verdict are one launch each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor

from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Verdict
from flybench.engine.base import Judge
from flybench.engine.graph.capture import capture, compiles
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.tree import TreePass
from flybench.sampling import Sampling

GREEDY = Sampling()
# A verdict's accepted, path, next token and fates; no opinions, which are packed; traces; packed.
Parts = tuple[Tensor, Tensor, Tensor, Tensor, None, Tensor | None, Tensor]


class GraphTarget:
    """Scores drafts in passes of two widths: one token, and the root with a draft of full length.

    A shorter draft is padded with whatever the inbox held: the cache forgets it, the view omits it.
    Trees, of `tree` nodes, are wider than chains.
    """

    def __init__(self, model: GraphModel, chain: int = 0, tree: int = 0) -> None:
        self._model = model
        self.device = model.device
        self._widest = chain + 1
        self._views = {nodes: self._view(nodes) for nodes in range(chain + 1)}
        self._tree = TreePass(model, tree) if tree else None
        self._branched = False

    def prepare(
        self, judge: Judge, k: int, sampling: Sampling, tree: bool = False
    ) -> tuple[GraphTarget, Judge]:
        own = GraphTarget(self._model, **{"tree" if tree else "chain": k})
        if sampling.greedy:
            return own, CapturedJudge(judge, self._model, own._views, own._tree)
        # A draw needs fresh noise, which comes from a generator that no graph knows.
        return own, judge if self._model.ranks == 1 else AgreedJudge(judge)

    def prefill(self, ids: Sequence[int]) -> Tensor | None:
        self._model.prefill(ids)
        return self._model.prompt_taps()

    def score(self, root: int, draft: Draft) -> TargetView:
        self._branched = draft.branches is not None
        if self._branched:
            assert self._tree is not None, "trees are announced when the target is prepared"
            return self._tree.score(root, draft)
        nodes = len(draft)
        width = self._width(nodes)
        self._model.load([root], width)
        self._model.inbox[2 : 2 + nodes].copy_(draft.tokens, non_blocking=True)
        self._model.pass_of(width)()
        return self._views[nodes]

    def commit(self, path: Sequence[int]) -> None:
        if self._branched and self._tree is not None:
            self._tree.keep(path)
        self._model.advance(1 + len(path))

    def _width(self, nodes: int) -> int:
        return self._widest if nodes else 1

    def _view(self, nodes: int) -> TargetView:
        """The first rows of a pass, which stand in the same place after each replay."""
        return self._model.pass_of(self._width(nodes))().view(nodes)


class CapturedJudge:
    """A greedy verifier and the packing of its verdict, one graph for each length of draft.

    A rule is a few dozen operations on a few numbers each. For the empty and the full draft, which
    are most of all drafts, they are compiled into fewer before they are captured.
    """

    def __init__(
        self, judge: Judge, model: GraphModel, views: dict[int, TargetView], tree: TreePass | None
    ) -> None:
        inbox = model.inbox

        def decide(draft: Draft, view: TargetView) -> Parts:
            found = judge.judge(draft, view, GREEDY, None)
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
        if not compiles(inbox.device):
            fused = decide

        def work(often: bool, draft: Draft, view: TargetView) -> Parts:
            found = (fused if often else decide)(draft, view)
            if model.ranks > 1:
                dist.broadcast(found[-1], src=0)
            return found

        full = max(views)
        self._programs = {}
        for nodes, view in views.items():
            draft = Draft.chain(inbox[2 : 2 + nodes])
            program = partial(work, nodes in (0, full), draft, view)
            self._programs[nodes] = capture(program, inbox.device)
        if tree is not None:
            program = partial(work, True, tree.draft, tree.view)
            self._on_tree = capture(program, inbox.device)

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        return Verdict(*(self._on_tree if draft.branches else self._programs[len(draft)])())


class AgreedJudge:
    """A verifier whose verdict every rank takes from rank 0."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        verdict = self._judge.judge(draft, view, sampling, generator)
        packed = verdict.pack(draft, view)
        dist.broadcast(packed, src=0)
        return replace(verdict, packed=packed)
