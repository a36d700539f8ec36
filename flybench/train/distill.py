"""Training of a small draft model on the target's answers and its distributions.

Source: DistillSpec (arXiv 2310.08461): the closer the draft model's distribution is to the target's
on target-generated text, the more tokens are accepted. The draft model is initialised from some of
the target's layers; embeddings and LM head are shared and frozen, and the rest is trained.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from flybench.engine.drafters.layer_skip import with_layers
from flybench.engine.eagle3.taps import Taps
from flybench.train.corpus import Batch
from flybench.train.losses import soft_loss, teacher_forward
from flybench.train.optimise import StepMetrics


def make_student(target: PreTrainedModel, layers: Sequence[int]) -> PreTrainedModel:
    """Return a model with trainable fp32 copies of these `layers` of the target and of its last
    norm; the other modules are shared with the target and frozen."""
    student = with_layers(target, layers)
    for name in ("layers", "norm"):
        own = copy.deepcopy(getattr(student.model, name)).float().requires_grad_(True)
        setattr(student.model, name, own)
    return student


class DraftLoss(nn.Module):
    """The loss of a draft model on the target's answers, over the ids that it may propose."""

    def __init__(self, student: PreTrainedModel, target: PreTrainedModel, ids: Tensor) -> None:
        super().__init__()
        self.student = student
        self._target = [target]
        self._ids = ids
        self._inside = torch.zeros(
            target.config.vocab_size, dtype=torch.bool, device=ids.device
        ).index_fill(0, ids, True)
        self._output = target.get_output_embeddings().weight.detach()[ids]
        self._untapped = Taps(target, ())

    def forward(self, batch: Batch) -> tuple[Tensor, StepMetrics]:
        """Return the loss, and as `acc` the share of the target's top-1 ids that the draft
        predicts."""
        outputs = teacher_forward(self._target[0], self._untapped, batch.ids)
        hidden = self.student.get_decoder()(input_ids=batch.ids, use_cache=False)
        scored = hidden.last_hidden_state
        # The token at t + 1 is written by the target if it is part of the answer.
        wanted = torch.cat([batch.answer[:, 1:], torch.zeros_like(batch.answer[:, :1])], 1)
        inside = wanted & self._inside[outputs.choice]
        value = soft_loss(scored[inside], self._output, outputs.hidden[inside], self._output)
        with torch.no_grad():
            guess = self._ids[(scored[wanted] @ self._output.T.to(scored.dtype)).argmax(-1)]
            accuracy = (guess == outputs.choice[wanted]).float().mean()
        return value, {"acc": accuracy}
