"""A draft model from a corpus: trained, saved, measured, and ready for a run."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel

from flybench.core.errors import FlybenchError
from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.drafters.shared_embeddings import read_layers
from flybench.engine.eager.model import EagerTarget
from flybench.sampling import Sampling
from flybench.train.corpus import Sample
from flybench.train.draft import DraftSettings, train_draft
from flybench.train.model_card import draft_card, publish
from tests.helpers import toys

QUICK = {"draft_vocab_size": 200, "steps": 40, "lr": 1e-2, "batch_tokens": 200, "measured": 3}


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    decoder = build_decoder(AR, EagerTarget(toys.eager("llama")), None, Sampling())
    prompts = [[(7 + n) * i % 250 for i in range(6)] for n in range(20)]
    stop = StopRule(frozenset(), 24)
    answers = [decoder.decode(prompt, stop).ids for prompt in prompts]
    return [
        Sample(prompt, answer, f"toy{n % 2}")
        for n, (prompt, answer) in enumerate(zip(prompts, answers, strict=True))
    ]


@pytest.fixture
def target() -> PreTrainedModel:
    return copy.deepcopy(toys.model("llama"))


@pytest.mark.slow
def test_a_draft_is_trained_saved_and_measured(
    target: PreTrainedModel, samples: list[Sample], tmp_path: Path
) -> None:
    settings = DraftSettings(**QUICK, held_out=0.2, layers=(0, -1))  # type: ignore[arg-type]
    facts = train_draft(target, samples, [], settings, tmp_path, "toy")
    own = read_layers(tmp_path)
    assert own.layers == 2
    assert len(own.ids) == 200
    counts = torch.bincount(torch.tensor([t for s in samples for t in s.answer]), minlength=300)
    assert counts[own.ids[0]] >= counts[own.ids[50]]
    assert facts["answers"] == {"trained": 16, "held_out": 4}
    assert sum(facts["measured_prompts"].values()) == 3
    assert 1 <= facts["tau"]["chain of 8"]["all"] <= 9
    publish(tmp_path, facts, draft_card, "prompts.jsonl")
    card = (tmp_path / "README.md").read_text()
    assert "2 layers between" in card
    assert f"{facts['tau']['chain of 8']['all']:.2f}" in card
    # Stopped and called again, it goes on from the end: nothing is trained.
    lines = (tmp_path / "log.jsonl").read_text()
    assert train_draft(target, samples, [], settings, tmp_path, "toy")["tau"] == facts["tau"]
    assert (tmp_path / "log.jsonl").read_text() == lines


@pytest.mark.parametrize(
    ("layers", "said"), [((0, 9), "[0, 9]"), ((-5,), "[-5]"), ((), "train.layers=0")]
)
def test_layers_that_are_not_there_are_refused(
    target: PreTrainedModel, samples: list[Sample], tmp_path: Path, layers: tuple[int], said: str
) -> None:
    with pytest.raises(FlybenchError) as caught:
        settings = DraftSettings(layers=layers)
        train_draft(target, samples, [], settings, tmp_path, "toy")
    toys.assert_one_sentence(caught.value, said)
