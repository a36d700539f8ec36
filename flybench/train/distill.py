"""Training a small draft model on the target's answers and its laws there.

Source: DistillSpec (arXiv 2310.08461): the closer the draft's law is to the target's on texts that
the target itself wrote, the more of its tokens are accepted. The draft starts as some of the
target's own layers, keeps its embeddings and output layer, and learns the rest.
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
from flybench.train.laws import soft_loss, teach
from flybench.train.optimise import Seen


def student_of(target: PreTrainedModel, layers: Sequence[int]) -> PreTrainedModel:
    """A model of fp32 copies of these `layers` of the target and of its last norm, to be trained;
    the rest is the target's own and stays as it is."""
    student = with_layers(target, layers)
    for name in ("layers", "norm"):
        own = copy.deepcopy(getattr(student.model, name)).float().requires_grad_(True)
        setattr(student.model, name, own)
    return student


class DraftLesson(nn.Module):
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

    def loss(self, batch: Batch) -> tuple[Tensor, Seen]:
        """Also `acc`, the share of the target's choices that the draft guesses."""
        taught = teach(self._target[0], self._untapped, batch.ids)
        hidden = self.student.get_decoder()(input_ids=batch.ids, use_cache=False)
        scored = hidden.last_hidden_state
        # The token at t + 1 is written by the target if it is part of the answer.
        wanted = torch.cat([batch.answer[:, 1:], torch.zeros_like(batch.answer[:, :1])], 1)
        inside = wanted & self._inside[taught.choice]
        loss = soft_loss(scored[inside], self._output, taught.hidden[inside], self._output)
        with torch.no_grad():
            guess = self._ids[(scored[wanted] @ self._output.T.to(scored.dtype)).argmax(-1)]
            accuracy = (guess == taught.choice[wanted]).float().mean()
        return loss, {"acc": accuracy}
