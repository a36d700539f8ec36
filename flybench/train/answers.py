"""The target's own answers to many prompts, generated in large batches, as training data.

Prompts of equal length share a batch without padding, and a step is one captured CUDA graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor
from tqdm import tqdm
from transformers import PreTrainedModel

from flybench.engine.graph.capture import capture
from flybench.engine.graph.forward import StaticForward
from flybench.sampling import Sampling

PREFILL_CHUNK = 32  # prompt tokens per prefill chunk
EOS_CHECK_INTERVAL = 16  # steps between checks for whether all answers have ended


class BatchGenerator:
    """Generates answers to batches of `batch` prompts of one length; rewires `model` in place."""

    def __init__(
        self,
        model: PreTrainedModel,
        vocab_size: int,
        batch: int,
        longest: int,
        sampling: Sampling,
        seed: int = 0,
    ) -> None:
        self._device, self._batch, self._sampling = model.device, batch, sampling
        self._forward = StaticForward(model, vocab_size, longest, batch)
        self._base = torch.zeros(1, dtype=torch.long, device=model.device)
        self._ids = torch.zeros(batch, PREFILL_CHUNK, dtype=torch.long, device=model.device)
        self._noise = sampling.noise((batch, vocab_size), model.device, None)
        self._generator = torch.Generator(model.device).manual_seed(seed)
        self._read = capture(partial(self._pass, PREFILL_CHUNK), model.device)
        self._step = capture(partial(self._pass, 1), model.device)

    def answer(
        self, prompts: Sequence[Sequence[int]], ends: Sequence[int], most: int
    ) -> list[list[int]]:
        """Return at most `most` ids for each of up to `batch` prompts, up to the first of `ends`
        inclusive."""
        filled = [*prompts, *[prompts[0]] * (self._batch - len(prompts))]
        text = torch.tensor(filled, device=self._device)
        for first in range(0, text.shape[1] - 1, PREFILL_CHUNK):
            piece = text[:, first : min(first + PREFILL_CHUNK, text.shape[1] - 1)]
            self._base.fill_(first)
            self._ids[:, : piece.shape[1]] = piece
            self._read()
        self._base.fill_(text.shape[1] - 1)
        self._ids[:, 0] = text[:, -1]
        stops = torch.tensor(list(ends), device=self._device)
        over = torch.zeros(self._batch, dtype=torch.bool, device=self._device)
        found = []
        for step in range(most):
            if self._noise is not None:
                self._noise.exponential_(generator=self._generator)
            chosen = self._step()
            found.append(chosen.clone())
            over |= torch.isin(chosen, stops)
            self._ids[:, 0] = chosen
            self._base += 1
            if step % EOS_CHECK_INTERVAL == EOS_CHECK_INTERVAL - 1 and bool(over.all()):
                break
        rows = torch.stack(found, 1)[: len(prompts)].tolist()
        return [_until(row, set(ends)) for row in rows]

    def _pass(self, width: int) -> Tensor:
        slots = self._base + torch.arange(width, device=self._device)
        logits = self._forward.logits(self._ids[:, :width], self._base, slots, 1)
        return self._sampling.choose(logits.float(), self._noise)[0]


def answer_all(
    answerer: BatchGenerator,
    prompts: Sequence[Sequence[int]],
    ends: Sequence[int],
    most: int,
    batch: int,
) -> list[list[int]]:
    """Return an answer to every prompt, in the order of the prompts."""
    answers: list[list[int]] = [[] for _ in prompts]
    with tqdm(total=len(prompts), desc="answers", disable=None) as bar:
        for group in by_length(prompts, batch):
            for place, ids in zip(
                group, answerer.answer([prompts[i] for i in group], ends, most), strict=True
            ):
                answers[place] = ids
            bar.update(len(group))
    return answers


def by_length(prompts: Sequence[Sequence[int]], batch: int) -> Iterator[list[int]]:
    """Yield the indices of prompts of one length, at most `batch` at a time."""
    places: dict[int, list[int]] = {}
    for place, ids in enumerate(prompts):
        places.setdefault(len(ids), []).append(place)
    for _, same in sorted(places.items()):
        for first in range(0, len(same), batch):
            yield same[first : first + batch]


def _until(ids: list[int], ends: set[int]) -> list[int]:
    return next((ids[: i + 1] for i, token in enumerate(ids) if token in ends), ids)
