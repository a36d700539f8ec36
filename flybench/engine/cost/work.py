"""Work of a forward pass: bytes read and FLOPs, by width, context and batch size.

Divided by the machine's rates, they give the two bounds of the roofline; the larger one applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel

from flybench.engine.cost.footprint import footprint, head_width


class PassWork(NamedTuple):
    """Bytes read and operations done by one pass; None where they are unknown."""

    bytes: float | None
    operations: float | None


@dataclass(frozen=True)
class ModelWork:
    """Sizes of a model that determine the work of a pass; None as in `Footprint`.

    `parameters` are the numbers in the matrices that each row is multiplied with;
    `windows` is the attention window of each layer in tokens, None for full attention;
    `attention` is the number of query heads times the head dimension of one layer.
    """

    weight_bytes: int | None
    kv_bytes_per_token: int | None
    parameters: int | None
    attention: int
    windows: tuple[int | None, ...]

    @classmethod
    def of(cls, model: PreTrainedModel) -> ModelWork:
        """Read the sizes of a loaded model, before an engine rewires it."""
        config = model.config.get_text_config()
        known = footprint(model)
        heads = config.num_attention_heads
        width = head_width(config)
        return cls(
            weight_bytes=known.weight_bytes,
            kv_bytes_per_token=known.kv_bytes_per_token,
            parameters=None if known.weight_bytes is None else _multiplied(model),
            attention=heads * width,
            windows=_windows(config),
        )

    def of_pass(self, width: int, context: int, batch: int) -> PassWork:
        """Return the work of a pass over `width` tokens in each of `batch` sequences.

        Each sequence has `context` tokens in the cache.

        bytes = weights + batch · cache; operations = rows · (2 · parameters + 4 · attention · seen
        tokens, over layers), where each of the batch · width rows sees the context and, on average,
        half of the new tokens. Logits of every row are included.
        """
        rows = batch * width
        number_of_bytes = operations = None
        if self.weight_bytes is not None and self.kv_bytes_per_token is not None:
            layer_bytes = self.kv_bytes_per_token / len(self.windows)
            number_of_bytes = self.weight_bytes + batch * layer_bytes * self._seen(context)
        if self.parameters is not None:
            seen = self._seen(context + (width + 1) / 2)
            operations = rows * (2 * self.parameters + 4 * self.attention * seen)
        return PassWork(number_of_bytes, operations)

    def cache_bytes(self, tokens: int, batch: int) -> int:
        """Return the bytes of a cache of every token in every layer; 0 if unknown."""
        return (self.kv_bytes_per_token or 0) * tokens * batch

    def _seen(self, context: float) -> float:
        """Return the tokens that a row attends to, summed over layers."""
        return sum(context if reach is None else min(context, reach) for reach in self.windows)


def _multiplied(model: PreTrainedModel) -> int:
    """Count the elements of all matrices but embeddings; quantised layers report true sizes."""
    total = 0
    for module in model.modules():
        weight = getattr(module, "weight", None)
        if isinstance(module, nn.Embedding) or not isinstance(weight, Tensor):
            continue
        if isinstance(module, nn.Linear):
            total += module.in_features * module.out_features
        elif weight.dim() == 2:
            total += weight.numel()
    return total


def _windows(config: PretrainedConfig) -> tuple[int | None, ...]:
    """Return the window of each layer; without `layer_types` they are all alike."""
    reach: int | None = getattr(config, "sliding_window", None)
    kinds = getattr(config, "layer_types", None)
    if not kinds:
        return (reach,) * config.num_hidden_layers
    return tuple(reach if kind == "sliding_attention" else None for kind in kinds)
