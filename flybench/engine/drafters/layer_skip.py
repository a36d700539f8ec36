"""A draft made of the target's own weights with a run of middle layers left out.

Self-speculation without training: no extra memory, but every draft token still costs most of a
target pass, and the remaining layers were never trained to skip. Honest, and slow.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from torch import nn
from transformers import PreTrainedModel

from flybench.core.errors import FlybenchError


def kept_layers(total: int, first: int, end: int) -> list[int]:
    """Indices of the layers that stay when `first` to `end` − 1 of `total` are left out.

    Raises:
        FlybenchError: the run does not lie inside the model, its first and last layer excluded.
    """
    if not 1 <= first < end < total:
        raise FlybenchError(
            f"skip_layers=[{first}, {end}] does not fit a model of {total} layers: choose "
            f"1 <= first < end <= {total - 1}, so that the first and the last layer stay."
        )
    return [index for index in range(total) if not first <= index < end]


def same_weights(model: PreTrainedModel) -> PreTrainedModel:
    """A second set of modules on the tensors of `model`."""
    # Naming every tensor in the memo makes a deep copy of the modules alone.
    tensors = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    return copy.deepcopy(model, memo=dict(tensors))


def without_layers(model: PreTrainedModel, first: int, end: int) -> PreTrainedModel:
    """A model that shares `model`'s tensors and lacks its layers `first` to `end` − 1."""
    if not hasattr(getattr(model, "model", None), "layers"):
        raise FlybenchError(
            f"{type(model).__name__} does not keep its layers in model.layers, so skip_layers "
            "cannot leave any out: remove it."
        )
    return with_layers(model, kept_layers(model.config.num_hidden_layers, first, end))


def with_layers(model: PreTrainedModel, keep: Sequence[int]) -> PreTrainedModel:
    """A model of the layers `keep` of `model`, on its tensors."""
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
