"""A draft model that shares the target's weights and skips a range of its middle layers.

Training-free self-speculation needs no extra memory for weights, but every draft token costs most
of a target pass, and the model was not trained to skip layers.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from torch import nn
from transformers import PreTrainedModel

from flybench.core.errors import FlybenchError


def kept_layers(total: int, first: int, end: int) -> list[int]:
    """Return the indices of the layers that are kept when `first` to `end` − 1 of `total` are
    skipped.

    Raises:
        FlybenchError: the range is not inside the model, without its first and last layer.
    """
    if not 1 <= first < end < total:
        raise FlybenchError(
            f"skip_layers=[{first}, {end}] does not fit a model of {total} layers: choose "
            f"1 <= first < end <= {total - 1}, because the first and the last layer are needed."
        )
    return [index for index in range(total) if not first <= index < end]


def same_weights(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy of the modules of `model` that shares its tensors."""
    # With every tensor in the memo, only the modules are copied.
    tensors = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    return copy.deepcopy(model, memo=dict(tensors))


def without_layers(model: PreTrainedModel, first: int, end: int) -> PreTrainedModel:
    """Return a copy of `model` without its layers `first` to `end` − 1, on the same tensors."""
    if not hasattr(getattr(model, "model", None), "layers"):
        raise FlybenchError(
            f"{type(model).__name__} does not keep its layers in model.layers, so skip_layers "
            "cannot leave any out: remove it."
        )
    return with_layers(model, kept_layers(model.config.num_hidden_layers, first, end))


def with_layers(model: PreTrainedModel, keep: Sequence[int]) -> PreTrainedModel:
    """Return a copy of `model` with only the layers `keep`, on the same tensors."""
    draft = same_weights(model)
    layers = nn.ModuleList(draft.model.layers[index] for index in keep)
    for index, layer in enumerate(layers):
        for module in layer.modules():
            if hasattr(module, "layer_idx"):
                setattr(module, "layer_idx", index)  # noqa: B010 - typed as a submodule
    draft.model.layers = layers
    if getattr(draft.config, "layer_types", None):
        draft.config.layer_types = [draft.config.layer_types[index] for index in keep]
    draft.config.num_hidden_layers = len(keep)
    return draft
