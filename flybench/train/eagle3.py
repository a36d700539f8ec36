"""Training of an EAGLE-3 head, unrolled over its own features (training-time test).

Source: EAGLE-3 (arXiv 2503.01840), section 3.2, and its `traineagle3`. At step j, column t takes
token t + 1 + j and the feature of step j − 1, and predicts token t + 2 + j. It attends to the
columns of step 0 up to t, whose features are the target's, and to its own column of later steps, as
in drafting. The text is the target's own answer at every step.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from flybench.engine.eagle3.head import Eagle3Head
from flybench.engine.eagle3.taps import Taps
from flybench.train.corpus import Batch
from flybench.train.losses import soft_loss, teacher_forward
from flybench.train.optimise import StepMetrics


class Unrolled:
    """Attention over the columns of step 0 and each column's own past, for one batch."""

    def __init__(self) -> None:
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        groups = query.shape[1] // key.shape[1]
        self._keys.append(key.repeat_interleave(groups, 1))
        self._values.append(value.repeat_interleave(groups, 1))
        columns = query.shape[2]
        scores = query @ self._keys[0].transpose(2, 3)
        ahead = torch.ones(columns, columns, dtype=torch.bool, device=query.device).triu(1)
        scores = scores.masked_fill(ahead, float("-inf"))
        own = [(query * past).sum(-1, keepdim=True) for past in self._keys[1:]]
        weights = (torch.cat([scores, *own], -1).float() * query.shape[-1] ** -0.5).softmax(-1)
        weights = weights.to(value.dtype)
        output = weights[..., :columns] @ self._values[0]
        for step, past in enumerate(self._values[1:]):
            output = output + weights[..., columns + step, None] * past
        return output.transpose(1, 2).flatten(2)


class HeadLoss(nn.Module):
    """The loss of a head on the target's answers, unrolled `steps` times; step j has weight
    decay^j."""

    def __init__(self, head: Eagle3Head, target: PreTrainedModel, steps: int, decay: float) -> None:
        super().__init__()
        self.head = head
        # In lists: the parameters of the target do not belong to this module.
        self._target, self._taps = [target], Taps(target, head.config.taps)
        self._steps, self._decay = steps, decay
        self._teacher = target.get_output_embeddings().weight.detach()[head.draft_ids]

    def forward(self, batch: Batch) -> tuple[Tensor, StepMetrics]:
        """Return the loss, and as `acc1`, `acc2`, … the share of the target's top-1 ids that each
        step predicts."""
        outputs = teacher_forward(self._target[0], self._taps, batch.ids)
        assert outputs.taps is not None, "the target is tapped"
        features, attend = self.head.fuse(outputs.taps), Unrolled()
        total, seen = features.new_zeros((), dtype=torch.float32), {}
        places = torch.arange(batch.ids.shape[1], device=batch.ids.device).expand_as(batch.ids)
        for step in range(self._steps):
            ids = _ahead(batch.ids, 1 + step)
            features, scored = self.head(ids, features, places + step, attend)
            choice = _ahead(outputs.choice, 1 + step)
            wanted = _ahead(batch.answer, 2 + step)
            inside = wanted & self.head.t2d[choice]
            hidden = _ahead(outputs.hidden, 1 + step)[inside]
            part = soft_loss(scored[inside], self.head.lm_head.weight, hidden, self._teacher)
            total = total + self._decay**step * part
            seen[f"acc{step + 1}"] = self._accuracy(scored[wanted], choice[wanted])
        return total, seen

    @torch.no_grad()
    def _accuracy(self, scored: Tensor, choice: Tensor) -> Tensor:
        guess = self.head.in_target(self.head.score(scored).argmax(-1))
        return (guess == choice).float().mean()


def _ahead(values: Tensor, by: int) -> Tensor:
    """Shift `values` [B, T, …] left by `by` columns; the end is filled with zeros."""
    return torch.cat([values[:, by:], torch.zeros_like(values[:, :by])], 1)
