"""The graph engine's code, without a GPU, against the eager engine: the same ids and fates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from flybench.config import DraftConfig, MethodConfig, VerifyConfig
from flybench.core.samples import Generation
from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.eager.model import EagerTarget
from flybench.engine.graph import layers
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.target import GraphTarget
from flybench.sampling import Sampling
from tests.helpers import toys
from tests.helpers.lanes import fast_only
from tests.helpers.tracing import traced

STRICT = VerifyConfig.of("fly", theta=math.inf)
METHODS = {
    "ar": AR,
    "spd": MethodConfig("spd", 5, DraftConfig.of("model")),
    "lookup": MethodConfig("lookup", 6, DraftConfig.of("lookup")),
    "fly": MethodConfig("fly", 15, DraftConfig.of("model"), VerifyConfig.of("fly")),
    "fly paper": MethodConfig(
        "fly", 9, DraftConfig.of("model"), VerifyConfig.of("fly", rule="paper")
    ),
    "nested": MethodConfig("fly", 15, DraftConfig.of("nested"), VerifyConfig.of("fly")),
    "nested strict": MethodConfig("fly", 15, DraftConfig.of("nested"), STRICT),
}
SAMPLINGS = {"greedy": Sampling(), "sampled": Sampling(0.8, 50, 0.95)}


@pytest.fixture(scope="module")
def pair(arch: str) -> tuple[GraphTarget, GraphModel]:
    return GraphTarget(toys.graph(arch)), toys.graph_near(arch)


def both(
    arch: str,
    pair: tuple[GraphTarget, GraphModel],
    method: MethodConfig,
    sampling: Sampling,
    prompt: list[int],
    stop: StopRule,
) -> tuple[Generation, Generation]:
    eager = build_decoder(method, EagerTarget(toys.eager(arch)), toys.near(arch), sampling)
    graph = build_decoder(method, *pair, sampling)
    return eager.decode(prompt, stop, 3), graph.decode(prompt, stop, 3)


@pytest.mark.parametrize("sampling", fast_only(SAMPLINGS, "greedy"))
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_graph_and_eager_agree_token_for_token(
    method: MethodConfig,
    sampling: Sampling,
    arch: str,
    pair: tuple[GraphTarget, GraphModel],
    prompt_ids: list[int],
) -> None:
    """gemma3's window of 32 tokens is shorter than the prompt, and shorter than the answer."""
    stop = StopRule(frozenset(), 36)
    eager, graph = both(arch, pair, method, sampling, prompt_ids, stop)
    assert graph.ids == eager.ids
    assert [r.outcomes for r in graph.rounds] == [r.outcomes for r in eager.rounds]
    assert graph.margins == pytest.approx(eager.margins, abs=1e-3)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_short_prompts_are_read(
    length: int, arch: str, pair: tuple[GraphTarget, GraphModel], prompt_ids: list[int]
) -> None:
    prompt = prompt_ids[:length]
    eager, graph = both(arch, pair, METHODS["spd"], Sampling(), prompt, StopRule(frozenset(), 30))
    assert graph.ids == eager.ids


@pytest.mark.slow
def test_methods_of_different_lengths_share_a_model(arch: str, prompt_ids: list[int]) -> None:
    """Each has passes, views and verdicts of its own, also for drafts of less than full length."""
    target, draft, stop = (
        GraphTarget(toys.graph(arch)),
        toys.graph_near(arch),
        StopRule(frozenset(), 30),
    )
    short = MethodConfig("lookup", 3, DraftConfig.of("lookup"))
    lookup = replace(short, k=9)
    methods = [METHODS["spd"], lookup, short, AR]
    together = [build_decoder(method, target, draft, Sampling()) for method in methods]
    for method, decoder in zip(methods, together, strict=True):
        alone = build_decoder(method, GraphTarget(toys.graph(arch)), draft, Sampling())
        expected, found = (each.decode(prompt_ids, stop) for each in (alone, decoder))
        assert [r.outcomes for r in found.rounds] == [r.outcomes for r in expected.rounds]
        assert found.ids == expected.ids


def test_the_same_prompt_costs_and_answers_the_same_twice(
    pair: tuple[GraphTarget, GraphModel], prompt_ids: list[int]
) -> None:
    decoder = build_decoder(METHODS["nested"], *pair, Sampling(0.8))
    stop = StopRule(frozenset(), 40)
    first, _, second = (
        decoder.decode(ids, stop, 3) for ids in (prompt_ids, prompt_ids[::-1], prompt_ids)
    )
    assert first.ids == second.ids
    assert [r.outcomes for r in first.rounds] == [r.outcomes for r in second.rounds]


@pytest.fixture
def graphs() -> Iterator[list[str]]:
    with traced(layers) as graphs:
        yield graphs


@pytest.mark.slow
def test_modules_compile_once_for_each_width(
    graphs: list[str], arch: str, prompt_ids: list[int]
) -> None:
    """Without a graph break, however many layers there are; gemma3 has layers of two kinds."""
    decoder = build_decoder(
        METHODS["spd"], GraphTarget(toys.graph(arch)), toys.graph_near(arch), Sampling()
    )
    # One token, two pending ones in the draft, the root with a full draft, two pieces of a prompt.
    widths = 5
    kinds = len(set(getattr(toys.model(arch).config, "layer_types", None) or [""]))
    # A layer and a rotary embedding of each kind, and the last norm.
    expected = widths * (2 * kinds + 1)
    assert len(graphs) == expected
    decoder.decode(prompt_ids, StopRule(frozenset(), 30))
    decoder.decode(prompt_ids[:7], StopRule(frozenset(), 30))
    assert len(graphs) == expected, "decoding compiled again"
