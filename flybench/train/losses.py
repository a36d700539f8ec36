"""The target's forward pass as the teacher, and a drafter's loss against it."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from flybench.engine.eagle3.taps import Taps

CHUNK = 4096  # rows of logits that are in memory at a time


class TeacherOutputs(NamedTuple):
    """Outputs of the target on texts [B, T].

    `hidden` [B, T, H] is the input of its output layer, `choice` [B, T] its top-1 id after each
    token, and `taps` [B, T, 3 · H] its tapped hidden states, None if it is not tapped.
    """

    hidden: Tensor
    choice: Tensor
    taps: Tensor | None


@torch.no_grad()
def teacher_forward(target: PreTrainedModel, taps: Taps, ids: Tensor) -> TeacherOutputs:
    """Run the target on `ids` [B, T]; padding after a text does not affect it."""
    hidden = target.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
    output = target.get_output_embeddings()
    rows = hidden.flatten(0, 1).split(CHUNK)
    choice = torch.cat([output(part).argmax(-1) for part in rows]).view_as(ids)
    found = taps.latest
    return TeacherOutputs(hidden, choice, torch.cat(found, -1) if found else None)


def soft_loss(scored: Tensor, head: Tensor, hidden: Tensor, teacher: Tensor) -> Tensor:
    """Return the mean cross-entropy of a drafter's distribution against the target's.

    Both are over the same ids. The logits are `scored` [R, H_d] times `head` [V_d, H_d] and
    `hidden` [R, H] times `teacher` [V_d, H]. They are computed in chunks, and recomputed in the
    backward pass.
    """
    total = scored.new_zeros((), dtype=torch.float32)
    for own, theirs in zip(scored.split(CHUNK), hidden.split(CHUNK), strict=True):
        total = total + checkpoint(_chunk, own, head, theirs, teacher, use_reentrant=False)
    return total / max(len(scored), 1)


def _chunk(own: Tensor, head: Tensor, theirs: Tensor, teacher: Tensor) -> Tensor:
    with torch.no_grad():
        probs = F.linear(theirs, teacher).float().softmax(-1)
    return -(probs * F.linear(own, head).float().log_softmax(-1)).sum()
