"""Hidden states out of the middle of a target, as its passes go by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from flybench.core import FlybenchError


class Taps:
    """Holds what the layers before `indices` put out in the latest pass.

    Index i is the output of layer i − 1, as in transformers' `hidden_states` (but never normed).

    Raises:
        FlybenchError: the target has no such layer.
    """

    def __init__(self, model: PreTrainedModel, indices: Sequence[int]) -> None:
        layers: Sequence[nn.Module] = model.get_decoder().layers
        outside = [index for index in indices if not 1 <= index <= len(layers)]
        if outside:
            raise FlybenchError(
                f"The EAGLE-3 head reads hidden state {outside[0]} of a target that has "
                f"{len(layers)} layers: use a head that was trained for this target."
            )
        self._width = len(indices) * model.config.get_text_config().hidden_size
        self._device = model.device
        self._latest: list[Any] = [None] * len(indices)
        for place, index in enumerate(indices):
            layers[index - 1].register_forward_hook(self._keep(place))

    def _keep(self, place: int) -> Any:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            self._latest[place] = output if isinstance(output, Tensor) else output[0]

        return hook

    def read(self, tokens: int) -> Tensor:
        """Of the latest pass over `tokens`, side by side: [tokens, 3 · H] (batch 1)."""
        if not tokens:  # nothing was read, so nothing passed by
            return torch.empty(0, self._width, device=self._device)
        return torch.cat(self._latest, -1)[0]
