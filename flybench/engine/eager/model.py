"""The eager engine: transformers' own forward pass, on any device.

The reference that faster engines are checked against. Caches are always full length: a sliding
window is then a matter of the mask alone, and rolling back is cutting the end off.
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
from flybench.engine.base import DraftPass, Drawn, Judge, ReadPass, upload
from flybench.engine.eager.growing import growing_cache
from flybench.engine.eager.thin import thin_products
from flybench.engine.eagle3.taps import Taps, joined
from flybench.sampling import Sampling

# Tokens of a prompt that are read in one pass, so that a long prompt takes no more memory for it.
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
                "state cannot be rolled back after a rejected draft: choose a model with "
                "attention layers only."
            )
        thin_products(model)
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
        self._cache = growing_cache()
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
        """What the taps gave for the latest prompt [T, 3 · H]; None if there are none."""
        taps = self.taps.latest
        return torch.cat([joined(taps, 0), *self._prompt_taps]) if taps else None

    def ids(self, ids: Sequence[int]) -> Tensor:
        return upload(ids, self.device)

    def extend(self, ids: Tensor, rows: int, ancestors: Tensor | None = None) -> Tensor:
        """Read ids [T] after the cache; fp32 logits [rows, vocab_size] of the last `rows`.

        `ancestors` [T, T] bool says which of the new tokens each one follows, itself included; None
        for a chain.
        """
        if not len(ids):
            return torch.empty(0, self.vocab_size, device=self.device)
        tree = {} if ancestors is None else self._tree(ancestors)
        logits = self.read(ids[None], rows, **tree)[0]
        return logits[logits.shape[0] - rows :]

    @torch.inference_mode()
    def keep(self, start: int, tokens: Sequence[int]) -> None:
        """Of the cache behind its first `start` tokens keep only those at `start` + `tokens`."""
        end = start + len(tokens)
        if list(tokens) != list(range(len(tokens))):
            index = self.ids(tokens) + start
            for layer in cast(Any, self._cache).layers:
                for part in (layer.keys, layer.values):
                    part[..., start:end, :] = part.index_select(-2, index)
        self.rollback(end)

    def _tree(self, ancestors: Tensor) -> dict[str, Any]:
        """Positions and additive masks for tokens that follow each other as `ancestors` says."""
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
        """Read ids [B, T] after the cache; fp32 logits [B, rows or 1, vocab_size] of the last."""
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

    def prepare(
        self, judge: Judge, k: int, sampling: Sampling, tree: bool = False
    ) -> tuple[EagerTarget, Judge]:
        return self, judge

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
    """The same paths with the root before them: [N, N] → [N + 1, N + 1] bool."""
    return torch.nn.functional.pad(ancestors, (1, 0, 1, 0), value=True).tril()
