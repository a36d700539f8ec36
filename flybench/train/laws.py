"""What a target thinks at every place of a text, over the ids that a drafter may propose."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from flybench.engine.eagle3.taps import Taps

CHUNK = 4096  # rows of logits that are in memory at a time


class Taught(NamedTuple):
    """A target's pass over texts [B, T].

    `hidden` [B, T, H] is what its output layer reads, `choice` [B, T] its favourite id after each
    token; `taps` [B, T, 3 · H] if it is tapped.
    """

    hidden: Tensor
    choice: Tensor
    taps: Tensor | None


@torch.no_grad()
def teach(target: PreTrainedModel, taps: Taps, ids: Tensor) -> Taught:
    """Read `ids` [B, T]; what stands behind a shorter text does not matter to it."""
    hidden = target.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
    output = target.get_output_embeddings()
    rows = hidden.flatten(0, 1).split(CHUNK)
    choice = torch.cat([output(part).argmax(-1) for part in rows]).view_as(ids)
    found = taps.latest
    return Taught(hidden, choice, torch.cat(found, -1) if found else None)


def soft_loss(scored: Tensor, head: Tensor, hidden: Tensor, teacher: Tensor) -> Tensor:
    """Mean cross-entropy of a drafter's law against the target's, over the same ids.

    `scored` [R, H_d] is read by `head` [V_d, H_d], `hidden` [R, H] by `teacher` [V_d, H]. Logits
    are made a chunk at a time, and again for the gradient.
    """
    total = scored.new_zeros((), dtype=torch.float32)
    for own, theirs in zip(scored.split(CHUNK), hidden.split(CHUNK), strict=True):
        total = total + checkpoint(_chunk, own, head, theirs, teacher, use_reentrant=False)
    return total / max(len(scored), 1)


def _chunk(own: Tensor, head: Tensor, theirs: Tensor, teacher: Tensor) -> Tensor:
    with torch.no_grad():
        law = F.linear(theirs, teacher).float().softmax(-1)
    return -(law * F.linear(own, head).float().log_softmax(-1)).sum()
