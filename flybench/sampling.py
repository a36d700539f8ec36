"""Sampling from logits with temperature, top-k and top-p, without a host sync.

The same `Sampling` is applied to the target and to the draft model, as acceptance ratios require.
A model's `generation_config` is ignored.
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
        """Return the probabilities that tokens are drawn from, [R, V] logits → [R, V].

        The temperature must be above 0; greedy decoding uses the argmax of the logits.
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
        """Draw the noise that `choose` needs for logits of `shape`; None if greedy."""
        if self.greedy:
            return None
        return torch.empty(shape, device=device).exponential_(generator=generator)

    def choose(self, logits: Tensor, noise: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return one id per row [R], and the probabilities [R, V] it was drawn from, if sampled.

        The noise is an argument, so the call can be captured in a CUDA graph.
        """
        if noise is None:
            return logits.argmax(-1), None
        probs = self.warp(logits)
        return exponential_race(probs, noise), probs


def generator_on(device: torch.device, generator: torch.Generator | None) -> torch.Generator | None:
    """Return `generator` if it is on `device`, else a new one there with a derived seed."""
    if generator is None or generator.device == device:
        return generator
    return torch.Generator(device).manual_seed(generator.initial_seed() + 1)


def draw(weights: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw an index per row with probability proportional to `weights` [..., V], without sync."""
    return exponential_race(weights, torch.empty_like(weights).exponential_(generator=generator))


def exponential_race(weights: Tensor, noise: Tensor) -> Tensor:
    """Draw an index per row from `weights` [..., V] with the exponential exponential_race.

    The argmax of weights divided by independent exponentials is an exact draw. It does not
    synchronise with the device, unlike `torch.multinomial`, which validates its input.
    """
    return (weights / noise.clamp_min(torch.finfo(weights.dtype).tiny)).argmax(-1)
