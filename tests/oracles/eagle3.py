"""An EAGLE-3 head that reads the whole text anew for every token: slow, and without a cache."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from flybench.engine.eagle3.head import Eagle3Head
from tests.helpers import toys


def causal(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    output = scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    return output.transpose(1, 2).flatten(2)


class SlowHead:
    """Logits over the draft vocabulary after a committed text and draft tokens behind it."""

    def __init__(self, arch: str, head: Eagle3Head) -> None:
        # A copy, because asking for hidden states leaves hooks in a model.
        self.model, self.head = copy.deepcopy(toys.model(arch)), head

    def logits(self, text: Sequence[int], drafted: Sequence[int]) -> Tensor:
        """All features of the text are the target's own; each draft token adds the head's."""
        with torch.inference_mode():
            states = self.model(torch.tensor([text[:-1]]), output_hidden_states=True).hidden_states
            taps = torch.cat([states[index] for index in self.head.config.taps], -1)
            features = self.head.fuse(taps)
            for end in range(len(drafted) + 1):
                ids = torch.tensor([[*text[1:], *drafted[:end]]])
                positions = torch.arange(ids.shape[1])[None]
                following, normed = self.head(ids, features, positions, causal)
                features = torch.cat([features, following[:, -1:]], 1)
            return self.head.score(normed[0, -1])
