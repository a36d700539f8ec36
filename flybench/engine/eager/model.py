"""The eager engine: transformers' own forward pass, on any device.

It is the reference for faster engines. Caches are always full length: a sliding window is only a
mask, and a rollback truncates the cache.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol, cast

import torch
from torch import Tensor
from transformers import PreTrainedModel

from flybench.core.drafts import Draft, TargetView
from flybench.core.errors import FlybenchError
from flybench.engine.base import DraftPass, Drawn, ReadPass, RoundVerifier, upload
from flybench.engine.eager.growable_cache import growable_cache
from flybench.engine.eager.skinny_matmul import use_skinny_matmul
from flybench.engine.eagle3.taps import Taps, joined
from flybench.sampling import Sampling

# Tokens of a prompt in one pass, which bounds the memory of long prompts.
PIECE = 1024
ROLLBACK_SAFE_LAYERS = {"full_attention", "sliding_attention", "chunked_attention"}


class EagerModel:
    """A transformers causal model with a cache that can be rolled back, tapped at `taps`.

    Raises:
        FlybenchError: the model keeps state that cannot be rolled back (linear attention and the
            like).
    """

    def __init__(self, model: PreTrainedModel, vocab_size: int, taps: Sequence[int] = ()) -> None:
        text_config = model.config.get_text_config()
        unsafe = set(getattr(text_config, "layer_types", None) or []) - ROLLBACK_SAFE_LAYERS
        if unsafe:
            raise FlybenchError(
                f"{type(model).__name__} has layers of type {', '.join(sorted(unsafe))}, whose "
                "state cannot be rolled back after a rejected draft: choose a model that has "
                "only attention layers."
            )
        use_skinny_matmul(model)
        self._model = model
        self._forward = inspect.signature(model.forward).parameters
        self.device = model.device
        self.vocab_size = vocab_size
        self.taps = Taps(model, taps)
        self._prompt_taps: list[Tensor] = []
        self.reset()

    @property
    def length(self) -> int:
        return self._length

    def reset(self) -> None:
        """Empty the cache."""
        self._cache = growable_cache()
        self._length = 0

    def prefill(self, ids: Sequence[int]) -> None:
        self.reset()
        self._prompt_taps = []
        for first in range(0, len(ids), PIECE):
            piece = self.ids(ids[first : first + PIECE])
            self.extend(piece, rows=0)
            if taps := self.taps.latest:
                self._prompt_taps.append(joined(taps, len(piece)))

    def prompt_taps(self) -> Tensor | None:
        """Tapped hidden states of the latest prompt [T, 3 · H]; None if there are no taps."""
        taps = self.taps.latest
        return torch.cat([joined(taps, 0), *self._prompt_taps]) if taps else None

    def ids(self, ids: Sequence[int]) -> Tensor:
        return upload(ids, self.device)

    def extend(self, ids: Tensor, rows: int, ancestors: Tensor | None = None) -> Tensor:
        """Run ids [T] after the cache; return fp32 logits [rows, vocab_size] of the last `rows`.

        `ancestors` [T, T] bool marks the new tokens that each one attends to, itself included; None
        for a chain.
        """
        if not len(ids):
            return torch.empty(0, self.vocab_size, device=self.device)
        tree = {} if ancestors is None else self._tree(ancestors)
        logits = self.read(ids[None], rows, **tree)[0]
        return logits[logits.shape[0] - rows :]

    @torch.inference_mode()
    def keep(self, start: int, tokens: Sequence[int]) -> None:
        """Keep only the tokens `start` + `tokens` after the first `start` tokens of the cache."""
        end = start + len(tokens)
        if list(tokens) != list(range(len(tokens))):
            index = self.ids(tokens) + start
            for layer in cast(Any, self._cache).layers:
                for part in (layer.keys, layer.values):
                    part[..., start:end, :] = part.index_select(-2, index)
        self.rollback(end)

    def _tree(self, ancestors: Tensor) -> dict[str, Any]:
        """Return positions and additive masks for tokens with the given `ancestors`."""
        size, total = len(ancestors), self._length + len(ancestors)
        positions = self._length + ancestors.sum(1) - 1
        places = torch.cat([torch.arange(self._length, device=self.device), positions])
        seen = torch.ones(size, total, dtype=torch.bool, device=self.device)
        seen[:, self._length :] = ancestors
        config = self._model.config.get_text_config()
        kinds = set(getattr(config, "layer_types", None) or [])
        masks = {}
        for kind in kinds or {""}:
            reach = getattr(config, "sliding_window", None) if kind != "full_attention" else None
            near = seen if not reach else seen & (places > positions[:, None] - reach)
            blocked = torch.zeros(size, total, dtype=self._model.dtype, device=self.device)
            masks[kind] = blocked.masked_fill(~near, torch.finfo(blocked.dtype).min)[None, None]
        one = next(iter(masks.values()))
        return {
            "position_ids": positions[None],
            "attention_mask": masks if len(masks) > 1 else one,
        }

    @torch.inference_mode()
    def read(self, ids: Tensor, rows: int, **how: Any) -> Tensor:
        """Run ids [B, T] after the cache; return fp32 logits [B, rows or 1, vocab_size] of the
        last."""
        # The cache argument was renamed in transformers 5.24; ask the model, not the version.
        cache_name = "cache" if "cache" in self._forward else "past_key_values"
        output = self._model(
            input_ids=ids,
            use_cache=True,
            # 0 would mean "all rows"; one row is the cheapest that every version offers.
            logits_to_keep=max(rows, 1),
            **{cache_name: self._cache},
            **how,
        )
        self._length += ids.shape[1]
        # Spread over several GPUs, the last one may hold the output layer.
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
    """A model that the programs below can extend."""

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
    """A `DraftPass` with one pass for each token, without synchronisation in between."""
    noise = sampling.noise((count, model.vocab_size), model.device, generator)
    unread = model.ids(pending)
    tokens, probs_by_step = [], []
    for step in range(count):
        row = None if noise is None else noise[step : step + 1]
        unread, probs = sampling.choose(model.extend(unread, rows=1), row)
        tokens.append(unread)
        probs_by_step.append(probs)
    drawn = [probs for probs in probs_by_step if probs is not None]
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

    def prepare(
        self, verifier: RoundVerifier, k: int, sampling: Sampling, tree: bool = False
    ) -> tuple[EagerTarget, RoundVerifier]:
        return self, verifier

    def prefill(self, ids: Sequence[int]) -> Tensor | None:
        self._model.prefill(ids)
        return self._model.prompt_taps()

    def score(self, root: int, draft: Draft) -> TargetView:
        self._base = self._model.length
        ids = torch.cat([self._model.ids([root]), draft.tokens])
        tree = None if draft.branches is None else rooted(draft.branches.ancestors)
        logits = self._model.extend(ids, len(ids), tree)
        taps = self._model.taps.latest
        return TargetView.of(logits, partial(joined, taps, len(ids)) if taps else None)

    def commit(self, path: Sequence[int]) -> None:
        self._model.keep(self._base, [0, *(node + 1 for node in path)])


def rooted(ancestors: Tensor) -> Tensor:
    """Return the paths with the root before them: [N, N] → [N + 1, N + 1] bool."""
    return torch.nn.functional.pad(ancestors, (1, 0, 1, 0), value=True).tril()
