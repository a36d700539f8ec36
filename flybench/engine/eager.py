"""The eager engine: transformers' own forward pass, on any device.

The reference that faster engines are checked against. Caches are always full length: a sliding
window is then a matter of the mask alone, and rolling back is cutting the end off.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Protocol

import torch
from torch import Tensor
from transformers import PreTrainedModel

from flybench.core import Draft, FlybenchError, TargetView
from flybench.engine.base import DraftPass, Drawn, Judge, ReadPass, upload
from flybench.engine.growing import growing_cache
from flybench.sampling import Sampling

ROLLBACK_SAFE_LAYERS = {"full_attention", "sliding_attention", "chunked_attention"}


class EagerModel:
    """A transformers causal model with a cache that can be rolled back.

    Raises:
        FlybenchError: the model keeps state that cannot be rolled back (linear attention and the
            like).
    """

    def __init__(self, model: PreTrainedModel, vocab_size: int) -> None:
        text_config = model.config.get_text_config()
        unsafe = set(getattr(text_config, "layer_types", None) or []) - ROLLBACK_SAFE_LAYERS
        if unsafe:
            raise FlybenchError(
                f"{type(model).__name__} has layers of type {', '.join(sorted(unsafe))}, whose "
                "state cannot be rolled back after a rejected draft: choose a model with "
                "attention layers only."
            )
        self._model = model
        self._forward = inspect.signature(model.forward).parameters
        self.device = model.device
        self.vocab_size = vocab_size
        self.reset()

    @property
    def length(self) -> int:
        return self._length

    def reset(self) -> None:
        """Empty the cache."""
        self._cache = growing_cache()
        self._length = 0

    def prefill(self, ids: Sequence[int]) -> None:
        self.reset()
        self.extend(self.ids(ids), rows=0)

    def ids(self, ids: Sequence[int]) -> Tensor:
        return upload(ids, self.device)

    def extend(self, ids: Tensor, rows: int) -> Tensor:
        """Read ids [T] after the cache; fp32 logits [rows, vocab_size] of the last `rows`."""
        if not len(ids):
            return torch.empty(0, self.vocab_size, device=self.device)
        logits = self.read(ids[None], rows)[0]
        return logits[logits.shape[0] - rows :]

    @torch.inference_mode()
    def read(self, ids: Tensor, rows: int) -> Tensor:
        """Read ids [B, T] after the cache; fp32 logits [B, rows or 1, vocab_size] of the last."""
        # The cache argument was renamed in transformers 5.24; ask the model, not the version.
        cache_name = "cache" if "cache" in self._forward else "past_key_values"
        output = self._model(
            input_ids=ids,
            use_cache=True,
            # 0 would mean "all rows"; one row is the cheapest that every version offers.
            logits_to_keep=max(rows, 1),
            **{cache_name: self._cache},
        )
        self._length += ids.shape[1]
        # Spread over several cards, the last one may hold the output layer.
        return output.logits[..., : self.vocab_size].float().to(self.device)

    def rollback(self, length: int) -> None:
        if length < self._length:
            self._cache.crop(length - self._length)
            self._length = length

    def drafting(self, count: int, sampling: Sampling) -> DraftPass:
        return partial(draft_by_steps, self, count, sampling)

    def reading(self, widest: int, sampling: Sampling) -> ReadPass:
        return partial(read_once, self, sampling)


class Extendable(Protocol):
    """What the programs below need of a model."""

    device: torch.device
    vocab_size: int

    def ids(self, ids: Sequence[int]) -> Tensor: ...

    def extend(self, ids: Tensor, rows: int) -> Tensor: ...


def draft_by_steps(
    model: Extendable,
    count: int,
    sampling: Sampling,
    pending: Sequence[int],
    generator: torch.Generator | None,
) -> Drawn:
    """A `DraftPass` of one pass a token; nothing is read back in between."""
    noise = sampling.noise((count, model.vocab_size), model.device, generator)
    unread = model.ids(pending)
    tokens, laws = [], []
    for step in range(count):
        row = None if noise is None else noise[step : step + 1]
        unread, law = sampling.choose(model.extend(unread, rows=1), row)
        tokens.append(unread)
        laws.append(law)
    drawn = [law for law in laws if law is not None]
    return torch.cat(tokens), torch.cat(drawn) if drawn else None


def read_once(
    model: Extendable,
    sampling: Sampling,
    ids: Sequence[int],
    rows: int,
    generator: torch.Generator | None,
) -> Drawn:
    """A `ReadPass` of one pass."""
    noise = sampling.noise((rows, model.vocab_size), model.device, generator)
    return sampling.choose(model.extend(model.ids(ids), rows), noise)


class EagerTarget:
    """The target of a decode loop, on one `EagerModel`."""

    def __init__(self, model: EagerModel) -> None:
        self._model = model
        self.device = model.device

    def prepare(self, judge: Judge, k: int, sampling: Sampling) -> Judge:
        return judge

    def prefill(self, ids: Sequence[int]) -> None:
        self._model.prefill(ids)

    def score(self, root: int, draft: Draft) -> TargetView:
        self._base = self._model.length
        ids = torch.cat([self._model.ids([root]), draft.tokens])
        return TargetView.of(self._model.extend(ids, rows=len(ids)))

    def commit(self, path: Sequence[int]) -> None:
        """Chains only: the accepted nodes are a prefix of the draft, so the cache is cut."""
        self._model.rollback(self._base + 1 + len(path))
