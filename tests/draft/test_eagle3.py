"""EAGLE-3 drafts against a slow reference that keeps no cache, and answers that stay AR's."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch

from flybench.config import DraftConfig, MethodConfig
from flybench.core.drafts import Draft, TargetView
from flybench.core.outcomes import Outcome
from flybench.core.samples import Generation
from flybench.core.verdicts import Verdict
from flybench.decode import Decoder, StopRule, build_decoder
from flybench.draft.eagle3 import CHUNKS, Eagle3Drafter
from flybench.engine.base import Target
from flybench.engine.eagle3 import model as model_module
from flybench.engine.eagle3.model import HeadModel
from flybench.measure.clock import Clock
from flybench.sampling import Sampling
from flybench.verify.exact import ExactVerifier
from tests.helpers import toys
from tests.helpers.toys import TreeShape as Shape
from tests.helpers.toys import head_setup
from tests.helpers.tracing import traced
from tests.oracles.eagle3 import SlowHead

CHAIN, TREE = Shape(5), Shape(14, depth=3, top_k=4)
NEAR_TIE = 1e-4
CAPTURED = pytest.mark.parametrize("captured", [False, pytest.param(True, marks=pytest.mark.slow)])
SHAPES = pytest.mark.parametrize("shape", [CHAIN, TREE], ids=["chain", "tree"])


class Checked(Eagle3Drafter):
    """Compares every draft with the slow head's before the target sees it."""

    slow: SlowHead

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        draft = super().propose(context, limit)
        tokens, parents = draft.tokens.tolist(), draft.parents.tolist()
        paths: list[list[int]] = []
        for token, parent in zip(tokens, parents, strict=True):
            before = paths[parent] if parent >= 0 else []
            logits = self.slow.logits(context, before)
            last_chosen = logits.topk(self.tree_top_k if self.tree_depth else 1).values[-1]
            words = self._head.in_target(torch.arange(len(logits)))
            # Orders of addition differ, so that a near tie may fall either way.
            assert logits[words == token].item() > last_chosen - NEAR_TIE
            paths.append([*before, token])
        # A text of one token has no feature yet.
        assert len(draft) == (self.setup.k if len(context) > 1 else 0)
        return draft


class Whim:
    """Keeps a random path of the draft, so that accepted tokens are many; any text will do."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(0)

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        parents = draft.parents.tolist()
        node = self.number(len(draft)) if len(draft) else -1
        path: list[int] = []
        while node >= 0:
            path.insert(0, node)
            node = parents[node]
        path = path[: self.number(len(path) + 1)]
        rest = [0] * (len(draft) - len(path))
        outcomes = torch.full((len(draft),), int(Outcome.REJECTED))
        outcomes[path] = int(Outcome.EXACT)
        counts = (len(path), self.number(toys.VOCAB))
        accepted, next_token = (torch.tensor(count) for count in counts)
        return Verdict(accepted, torch.tensor(path + rest), next_token, outcomes)

    def number(self, below: int) -> int:
        return int(torch.randint(below, (), generator=self.generator))


def checked(arch: str, shape: Shape, captured: bool = False, **head: Any) -> tuple[Target, Checked]:
    made = toys.head(arch, **head)
    # gemma3's windows keep a tree off the graph engine.
    on_graph = captured and not (shape.depth and arch == "gemma3")
    make = toys.graph_target if on_graph else toys.eager_target
    plain = make(arch, made.config.taps)
    target, _ = plain.prepare(ExactVerifier(), shape.nodes, Sampling(), shape.depth > 0)
    drafter = Checked(head_setup(HeadModel(made, 400, captured), shape), **shape.settings)
    drafter.slow = SlowHead(arch, made)
    return target, drafter


@SHAPES
@CAPTURED
@pytest.mark.parametrize(
    ("arch", "prompt"),
    [("llama", 1), ("llama", 2), ("llama", 50), ("qwen3", 50), ("gemma3", 50)],
    indirect=["arch"],
)
def test_drafts_equal_those_of_a_head_without_a_cache(
    arch: str, shape: Shape, captured: bool, prompt: int
) -> None:
    """Whatever was kept of the drafts before; the taps are transformers' own hidden states."""
    target, drafter = checked(arch, shape, captured)
    clock = Clock(target.device)
    decoder = Decoder(target, drafter, Whim(), shape.nodes, Sampling(), clock)
    text = [7 * i % 250 for i in range(prompt)]
    found = decoder.decode(text, StopRule(frozenset(), 24))
    assert len(found.ids) == 24
    assert max(round_.accepted for round_ in found.rounds) > 2


@pytest.mark.parametrize("captured", [False, True])
def test_a_chain_and_a_tree_share_a_head(captured: bool, prompt_ids: list[int]) -> None:
    """Each drafts from keys and values of its own."""
    made, make = toys.head("llama"), toys.graph_target if captured else toys.eager_target
    target, model = make("llama", made.config.taps), HeadModel(made, 400, captured)
    shapes = {
        "chain": DraftConfig.of("eagle3"),
        "tree": DraftConfig.of("eagle3", tree_depth=3, tree_top_k=4),
    }
    methods = [MethodConfig(name, 5, draft) for name, draft in shapes.items()]
    together = [build_decoder(method, target, model, Sampling()) for method in methods]
    stop = StopRule(frozenset(), 20)
    for method, decoder in zip(methods, together, strict=True):
        alone = build_decoder(method, target, HeadModel(made, 400, captured), Sampling())
        expected, found = (each.decode(prompt_ids, stop) for each in (alone, decoder))
        assert [r.outcomes for r in found.rounds] == [r.outcomes for r in expected.rounds]
        assert found.ids == expected.ids


OPTIONS = [
    {"norm_before_residual": True, "norm_output": True},
    {"norm_before_fc": True, "fc_bias": True},
    {"fc_norm": True, "qk_norm": True},
    {"draft_vocab_size": None},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(options))
def test_every_option_of_a_head_drafts_consistently(options: dict[str, Any]) -> None:
    target, drafter = checked("llama", CHAIN, **options)
    decoder = Decoder(target, drafter, Whim(), CHAIN.nodes, Sampling(), Clock(target.device))
    decoder.decode([5, 6, 7], StopRule(frozenset(), 20))


@SHAPES
@CAPTURED
def test_greedy_answers_are_those_of_plain_decoding(
    arch: str, shape: Shape, captured: bool, prompt_ids: list[int], ar_answer: Generation
) -> None:
    target, drafter = checked(arch, shape, captured)
    target, judge = target.prepare(ExactVerifier(), shape.nodes, Sampling(), shape.depth > 0)
    decoder = Decoder(target, drafter, judge, shape.nodes, Sampling(), Clock(target.device))
    found = decoder.decode(prompt_ids, StopRule(frozenset(), 16))
    assert found.ids == ar_answer.ids[:16]


def test_a_prompt_longer_than_a_piece_is_read_whole() -> None:
    target, drafter = checked("llama", Shape(2))
    text = [i % 250 for i in range(max(CHUNKS) + 100)]
    drafter = Eagle3Drafter(
        head_setup(HeadModel(drafter._head, len(text), captured=False), Shape(2))
    )
    taps = target.prefill(text[:-1])
    drafter.start(text, taps, None)
    assert len(drafter.propose(text, 2)) == 2


@pytest.fixture
def graphs() -> Iterator[list[str]]:
    with traced(model_module) as graphs:
        yield graphs


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["llama", "gemma3"], indirect=True)
@pytest.mark.parametrize(("shape", "expected"), [(CHAIN, 3), (TREE, 2)], ids=["chain", "tree"])
def test_a_head_compiles_once_for_each_width(
    graphs: list[str],
    arch: str,
    shape: Shape,
    expected: int,
    prompt_ids: list[int],
    ar_answer: Generation,
) -> None:
    """Pairs after a round, then a chain's next token and its choice, or a level of a tree; never a
    piece of a prompt, and never while decoding."""
    target, drafter = checked(arch, shape, captured=True)
    assert len(graphs) == expected
    target, judge = target.prepare(ExactVerifier(), shape.nodes, Sampling(), shape.depth > 0)
    decoder = Decoder(target, drafter, judge, shape.nodes, Sampling(), Clock(target.device))
    for _ in range(2):
        assert decoder.decode(prompt_ids, StopRule(frozenset(), 8)).ids == ar_answer.ids[:8]
    assert len(graphs) == expected


@pytest.mark.parametrize("length", [1, 2, 100, 129, 300, 700])
def test_a_recorded_prompt_is_read_as_another(length: int) -> None:
    """In pieces of two widths, the last of them padded."""
    made = toys.head("llama")
    target = toys.eager_target("llama", made.config.taps)
    text = [7 * i % 250 for i in range(length)]
    taps = target.prefill(text[:-1])
    drafts = []
    for captured in (False, True):
        drafter = Eagle3Drafter(head_setup(HeadModel(copy.deepcopy(made), 700, captured), CHAIN))
        drafter.start(text, taps, None)
        drafts.append(drafter.propose(text, CHAIN.nodes).tokens.tolist())
    assert drafts[0] == drafts[1]
    assert len(drafts[0]) == (CHAIN.nodes if length > 1 else 0)
