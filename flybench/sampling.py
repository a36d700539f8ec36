"""How a law over the vocabulary becomes a token: temperature, top-k, top-p, and sync-free draws.

The same `Sampling` is applied to the target and to the draft, so that acceptance ratios compare
like with like. Nothing of a model's `generation_config` enters here.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from flybench.core.sampling import SamplingSettings


@dataclass(frozen=True)
class Sampling(SamplingSettings):
    """Sampling settings applied to logits.

    Raises:
        FlybenchError: a setting is outside its range.
    """

    def warp(self, logits: Tensor) -> Tensor:
        """The law that tokens are drawn from: [R, V] logits → [R, V] probabilities.

        Only for temperature > 0; greedy decoding takes the argmax of the logits instead.
        """
        logits = logits / self.temperature
        if self.top_k:
            kth = logits.topk(min(self.top_k, logits.shape[-1]), dim=-1).values[..., -1:]
            logits = logits.masked_fill(logits < kth, float("-inf"))
        if self.top_p < 1:
            ordered, order = logits.sort(dim=-1, descending=True)
            before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
            cut = torch.zeros_like(logits, dtype=torch.bool).scatter(
                -1, order, before >= self.top_p
            )
            logits = logits.masked_fill(cut, float("-inf"))
        return logits.softmax(-1)

    def noise(
        self, shape: tuple[int, int], device: torch.device, generator: torch.Generator | None
    ) -> Tensor | None:
        """The randomness that `choose` needs for rows of logits of `shape`; None if greedy."""
        if self.greedy:
            return None
        return torch.empty(shape, device=device).exponential_(generator=generator)

    def choose(self, logits: Tensor, noise: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """One token a row: ids [R], and the law [R, V] they were drawn from (None if greedy).

        Randomness comes in from outside, so that the same call can be a part of a CUDA graph.
        """
        if noise is None:
            return logits.argmax(-1), None
        probs = self.warp(logits)
        return race(probs, noise), probs


def generator_on(device: torch.device, generator: torch.Generator | None) -> torch.Generator | None:
    """`generator` if it can serve `device`, else one there with a seed of its own."""
    if generator is None or generator.device == device:
        return generator
    return torch.Generator(device).manual_seed(generator.initial_seed() + 1)


def draw(weights: Tensor, generator: torch.Generator | None) -> Tensor:
    """One index a row, with probability proportional to `weights` [..., V], without a host sync."""
    return race(weights, torch.empty_like(weights).exponential_(generator=generator))


def race(weights: Tensor, noise: Tensor) -> Tensor:
    """The index that wins the exponential race: an exact draw from `weights` [..., V].

    Dividing by independent exponentials and taking the argmax never waits for the device, as
    `torch.multinomial` does to validate its input.
    """
    return (weights / noise.clamp_min(torch.finfo(weights.dtype).tiny)).argmax(-1)
