"""Training: the loss computes what drafting computes; losses fall; a killed run resumes."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import PreTrainedModel

from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.eager.model import EagerModel, EagerTarget
from flybench.engine.eagle3.head import Eagle3Head
from flybench.sampling import Sampling
from flybench.train import eagle3, optimise
from flybench.train.corpus import Batch, Sample, batches, collate
from flybench.train.distill import DraftLoss, make_student
from flybench.train.eagle3 import HeadLoss
from tests.helpers import toys
from tests.oracles.eagle3 import SlowHead


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """The toy's own greedy answers."""
    decoder = build_decoder(AR, EagerTarget(toys.eager("llama")), None, Sampling())
    prompts = [[(7 + n) * i % 250 for i in range(6)] for n in range(12)]
    stop = StopRule(frozenset(), 20)
    return [Sample(prompt, decoder.decode(prompt, stop).ids, "toy") for prompt in prompts]


@pytest.fixture
def target() -> PreTrainedModel:
    return copy.deepcopy(toys.model("llama")).requires_grad_(False)


def trainable(head: Eagle3Head) -> Eagle3Head:
    head.requires_grad_(True)
    head.embed_tokens.requires_grad_(False)
    return head


def test_a_loss_sees_what_drafting_sees(
    target: PreTrainedModel, samples: list[Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logits at every step and column, against a head that reads the text up to there."""
    head = toys.head("llama")
    seen: list[torch.Tensor] = []
    forward = Eagle3Head.forward

    def watched(self: Eagle3Head, *args: Any) -> Any:
        found = forward(self, *args)
        seen.append(self.score(found[1]))
        return found

    monkeypatch.setattr(Eagle3Head, "forward", watched)
    HeadLoss(head, target, 4, 0.8)(collate(samples[:2]))
    monkeypatch.undo()
    slow, text = SlowHead("llama", head), samples[0].prompt + samples[0].answer
    for step, logits in enumerate(seen):
        for column in (0, 5, 20):
            end = column + 2
            plain = slow.logits(text[:end], text[end : end + step])
            torch.testing.assert_close(logits[0, column], plain, rtol=1e-4, atol=1e-4)


def test_a_loss_weighs_its_steps(target: PreTrainedModel, samples: list[Sample]) -> None:
    """Against a cross-entropy spelled out, over ids that the head may propose."""
    head, batch = toys.head("llama"), collate(samples[:3])
    once, _ = HeadLoss(head, target, 1, 0.5)(batch)
    ids = torch.arange(len(head.d2t)) + head.d2t
    slow, total, count = SlowHead("llama", head), 0.0, 0
    for row, sample in enumerate(samples[:3]):
        text = batch.ids[row].tolist()
        with torch.inference_mode():
            logits = toys.model("llama")(batch.ids[row : row + 1]).logits[0]
        for place in range(len(sample.prompt), len(text)):
            before = logits[place - 1]
            if int(before.argmax()) not in ids.tolist():
                continue
            own = slow.logits(text[:place], [])
            total -= float((before[ids].softmax(-1) * own.log_softmax(-1)).sum())
            count += 1
    assert float(once) == pytest.approx(total / count, rel=1e-4)
    twice, seen = HeadLoss(head, target, 2, 0.5)(batch)
    assert twice > once
    assert set(seen) == {"acc1", "acc2"}


def log(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / optimise.LOG).read_text().splitlines()]


def learn(
    module: nn.Module,
    loss: optimise.Loss,
    samples: list[Sample],
    folder: Path,
    lr: float = 3e-3,
) -> list[dict[str, float]]:
    schedule = optimise.Schedule(30, lr, save_every=10)
    optimise.optimise(module, loss, lambda n: batches(samples, 120, n), schedule, folder)
    return log(folder)


def test_a_head_learns_its_target(
    target: PreTrainedModel, samples: list[Sample], tmp_path: Path
) -> None:
    loss = HeadLoss(trainable(toys.head("llama", toys.VOCAB)), target, 3, 0.8)
    found = learn(loss.head, loss, samples, tmp_path, lr=1e-2)
    assert len(found) == 30
    assert found[-1]["loss"] < 0.8 * found[0]["loss"]
    assert mean(found[-3:], "acc1") > mean(found[:3], "acc1") + 0.2


def test_a_draft_model_learns_its_target(
    target: PreTrainedModel, samples: list[Sample], tmp_path: Path
) -> None:
    student = make_student(target, [0, 3])
    frozen = target.get_output_embeddings().weight
    assert student.get_output_embeddings().weight is frozen
    before = {name: weight.clone() for name, weight in target.named_parameters()}
    loss = DraftLoss(student, target, torch.arange(toys.VOCAB))
    found = learn(student, loss, samples, tmp_path)
    assert found[-1]["loss"] < found[0]["loss"]
    assert mean(found[-3:], "acc") > mean(found[:3], "acc") + 0.2
    assert all(torch.equal(weight, before[name]) for name, weight in target.named_parameters())
    assert EagerModel(student.eval(), toys.VOCAB).extend(torch.tensor([1, 2]), 1).shape[0] == 1


def mean(rows: list[dict[str, float]], name: str) -> float:
    return sum(row[name] for row in rows) / len(rows)


def test_a_killed_training_resumes_where_it_was_saved(
    target: PreTrainedModel, samples: list[Sample], tmp_path: Path
) -> None:
    def fresh() -> HeadLoss:
        return HeadLoss(trainable(toys.head("llama")), target, 2, 0.8)

    whole = fresh()
    learn(whole.head, whole, samples, tmp_path / "whole")
    killed, calls = fresh(), 0

    def dying(batch: Batch) -> Any:
        nonlocal calls
        calls += 1
        if calls == 17:
            raise KeyboardInterrupt
        return killed(batch)

    with pytest.raises(KeyboardInterrupt):
        learn(killed.head, dying, samples, tmp_path / "parts")
    again = fresh()
    found = learn(again.head, again, samples, tmp_path / "parts")
    assert [row["step"] for row in found[-20:]] == list(range(11, 31))
    for ours, theirs in zip(again.head.parameters(), whole.head.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_columns_move_ahead() -> None:
    values = torch.tensor([[1, 2, 3]])
    assert eagle3._ahead(values, 2).tolist() == [[3, 0, 0]]
    assert eagle3._ahead(values, 3).tolist() == [[0, 0, 0]]
