"""Verdicts on the graph engine: captured for every length of draft, compiled for all at once."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from flybench.core.drafts import Draft, RowStatistics, TargetView
from flybench.engine.graph import target
from flybench.engine.graph.target import CapturedVerifier
from flybench.sampling import Sampling
from flybench.verify.base import Verifier
from flybench.verify.exact import ExactVerifier
from flybench.verify.fly import FlyVerifier
from tests.helpers.tracing import traced

VOCAB, LONGEST = 9, 12
JUDGES = {
    "exact": ExactVerifier(),
    "official": FlyVerifier("official", 0.3, 2),
    "paper": FlyVerifier("paper", 0.3, 2),
    "vllm": FlyVerifier("vllm", 0.3, 0),
}


@pytest.fixture
def graphs() -> Iterator[list[str]]:
    with traced(target) as graphs:
        yield graphs


@pytest.mark.parametrize("verifier", JUDGES.values(), ids=JUDGES)
def test_captured_verdicts_equal_the_verifier_own(verifier: Verifier, graphs: list[str]) -> None:
    """Compiled for the empty and the full draft, and never while decoding."""
    generator = torch.Generator().manual_seed(1)
    logits = torch.zeros(LONGEST + 1, VOCAB)
    everything = TargetView.of(logits)
    views = {
        nodes: TargetView(
            logits[: nodes + 1],
            RowStatistics(*(part[: nodes + 1] for part in everything.statistics)),
        )
        for nodes in range(LONGEST + 1)
    }
    input_buffer = torch.zeros(2 + LONGEST, dtype=torch.long)
    model: Any = SimpleNamespace(input_buffer=input_buffer, ranks=1)
    captured = CapturedVerifier(verifier, model, views, None)
    assert len(graphs) == 2
    for nodes in [*range(LONGEST + 1)] * 2:
        logits.copy_(torch.randn(logits.shape, generator=generator) * 2)
        for kept, fresh in zip(everything.statistics, RowStatistics.of(logits), strict=True):
            kept.copy_(fresh)
        follow = torch.rand(LONGEST, generator=generator) < 0.7
        other = torch.randint(0, VOCAB, (LONGEST,), generator=generator)
        input_buffer[2:] = everything.statistics.choice[:-1].where(follow, other)
        draft, view = (
            Draft.chain(input_buffer[2 : 2 + nodes].clone()),
            TargetView.of(logits[: nodes + 1]),
        )
        plain = verifier.judge(draft, view, Sampling(), None).fetch(draft, view)
        ours = captured.judge(draft, views[nodes], Sampling(), None).fetch(draft, views[nodes])
        assert ours == plain
    assert len(graphs) == 2
