"""Traces against a slow look at each row's own text, on both engines, and what they must not do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch

from flybench.config import DraftConfig, MethodConfig, VerifyConfig
from flybench.core.drafts import Draft, TargetView
from flybench.core.samples import Generation
from flybench.decode import Decoder, StopRule, build_decoder
from flybench.engine.eager.model import EagerTarget
from flybench.engine.graph.target import GraphTarget
from flybench.sampling import Sampling
from flybench.verify.tracing import trace_rows
from tests.helpers import toys

ARCH, STOP = "llama", StopRule(frozenset(), 40)
METHODS = {
    "spd": MethodConfig("spd", 5, DraftConfig.of("model")),
    "fly": MethodConfig("fly", 6, DraftConfig.of("nested"), VerifyConfig.of("fly", window=2)),
    "lookup": MethodConfig("lookup", 6, DraftConfig.of("lookup")),
}
SAMPLINGS = {"greedy": Sampling(), "sampled": Sampling(0.8)}


def decoder(engine: str, method: MethodConfig, sampling: Sampling, traces: bool) -> Decoder:
    graph = engine == "graph"
    target = GraphTarget(toys.graph(ARCH)) if graph else EagerTarget(toys.eager(ARCH))
    draft = toys.graph_near(ARCH) if graph else toys.near(ARCH)
    own = draft if method.needs_draft_model else None
    return build_decoder(method, target, own, sampling, traces)


ENGINES = pytest.mark.parametrize(
    "engine", ["eager", pytest.param("graph", marks=pytest.mark.slow)]
)


def slow_rows(prompt: Sequence[int], answer: Generation) -> list[list[float]]:
    """Every row from a pass of its own over the text before it: all that `RowTrace` holds but the
    drafter's probability."""
    found, kept, rows = [], 0, iter(answer.traces)
    for round_ in answer.rounds:
        text = [*prompt, *answer.ids[:kept]]
        for row in [next(rows) for _ in range(round_.drafted + 1)]:
            with torch.no_grad():
                logits = toys.model(ARCH)(torch.tensor([text])).logits[0, -1, : toys.VOCAB]
            dist = [math.exp(p) for p in logits.double().log_softmax(-1).tolist()]
            token = int(row.token)
            surprise = [-p * math.log(p) for p in sorted(dist, reverse=True) if p > 0]
            own = dist[token] if token >= 0 else math.nan
            choice = float(logits.argmax())
            found.append([row.token, choice, sum(surprise), sum(surprise[:3]), own, max(dist)])
            text.append(token)
        kept += round_.emitted
    return found


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS)
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@ENGINES
def test_every_row_is_what_the_target_thinks_after_its_own_text(
    engine: str, method: MethodConfig, sampling: Sampling, prompt_ids: list[int]
) -> None:
    answer = decoder(engine, method, sampling, True).decode(prompt_ids, STOP, 3)
    assert len(answer.traces) == sum(round_.drafted + 1 for round_ in answer.rounds)
    rows = torch.tensor([row[:-1] for row in answer.traces], dtype=torch.double)
    expected = torch.tensor(slow_rows(prompt_ids, answer), dtype=torch.double)
    assert torch.equal(rows[:, :2], expected[:, :2])
    assert torch.allclose(rows, expected, atol=1e-4, equal_nan=True)
    drawn = [row.draft_probability for row in answer.traces]
    known = method.needs_draft_model and not sampling.greedy
    assert all(math.isnan(q) or 0 < q <= 1 for q in drawn)
    assert any(not math.isnan(q) for q in drawn) == known


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@ENGINES
def test_traces_change_nothing_else(
    engine: str, method: MethodConfig, prompt_ids: list[int]
) -> None:
    plain, traced = (
        decoder(engine, method, Sampling(), traces).decode(prompt_ids, STOP)
        for traces in (False, True)
    )
    assert plain.traces == []
    assert traced.ids == plain.ids
    assert traced.loose_tokens == plain.loose_tokens
    assert [r.outcomes for r in traced.rounds] == [r.outcomes for r in plain.rounds]


def test_a_row_of_no_draft_judges_no_token() -> None:
    ids = torch.empty(0, dtype=torch.long)
    (row,) = trace_rows(Draft.chain(ids), TargetView.of(torch.tensor([[0.0, 1.0, 0.0]])))
    assert row[:2].tolist() == [-1, 1]
    assert row[4].isnan()
