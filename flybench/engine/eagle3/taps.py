"""Hidden states of inner layers of a target, captured by hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from flybench.core.errors import FlybenchError


class Taps:
    """Holds the outputs of the layers before `indices` in the latest pass.

    Index i is the output of layer i − 1, as in transformers' `hidden_states` (but never normed).

    Raises:
        FlybenchError: the target has no such layer.
    """

    def __init__(self, model: PreTrainedModel, indices: Sequence[int]) -> None:
        self._latest: list[Tensor] = []
        if not indices:
            return
        layers: Sequence[nn.Module] = model.get_decoder().layers
        outside = [index for index in indices if not 1 <= index <= len(layers)]
        if outside:
            raise FlybenchError(
                f"The EAGLE-3 head reads hidden state {outside[0]} of a target that has "
                f"{len(layers)} layers: use a head that was trained for this target."
            )
        width = model.config.get_text_config().hidden_size
        nothing = torch.empty(1, 0, width, device=model.device, dtype=model.dtype)
        self._latest = [nothing] * len(indices)
        for place, index in enumerate(indices):
            layers[index - 1].register_forward_hook(self._keep(place))

    def _keep(self, place: int) -> Any:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            self._latest[place] = output if isinstance(output, Tensor) else output[0]

        return hook

    @property
    def latest(self) -> tuple[Tensor, ...]:
        """Hidden states [1, T, H] of the latest pass, one for each index."""
        return tuple(self._latest)


def joined(taps: Sequence[Tensor], rows: int) -> Tensor:
    """Concatenate the first `rows` of a pass's hidden states: [rows, 3 · H]."""
    return torch.cat([states[0, :rows] for states in taps], -1)
