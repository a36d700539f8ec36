"""A draft model with its own few layers that shares the target's embeddings and output layer.

Embeddings account for most of a small model's bytes. The folder of such a draft model contains only
its layers, the final norm, and the ids to score, most frequent first. Sharing costs no memory, and
the vocabulary is the target's by construction. `flybench/train/draft.py` creates such folders.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from flybench.core.errors import FlybenchError
from flybench.engine.drafters.layer_skip import same_weights

KIND = "borrowed_draft"
WEIGHTS, IDS = "model.safetensors", "draft_ids"
OWN = ("layers.", "norm.")


@dataclass(frozen=True)
class DraftLayers:
    """Contents of a folder: `ids` [V_d] in falling order of frequency, and tensors of a decoder
    by name."""

    name: str
    ids: Tensor
    parts: Mapping[str, Tensor]

    def scored(self, most: int | None) -> Tensor:
        """Return the ids that the draft may propose, in order: all, or the `most` frequent."""
        return self.ids[:most].sort().values

    @property
    def layers(self) -> int:
        return 1 + max(int(name.split(".")[1]) for name in self.parts if name.startswith("layers."))


def shares_embeddings(folder: Path) -> bool:
    """Return True if a folder contains such a draft instead of a complete model."""
    try:
        found = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("model_type") == KIND


def read_layers(folder: Path) -> DraftLayers:
    """Read a folder that `save_layers` wrote.

    Raises:
        FlybenchError: the file is missing or damaged.
    """
    try:
        parts = load_file(folder / WEIGHTS)
        ids = parts.pop(IDS)
        distinct = ids.ndim == 1 and ids.unique().numel() == len(ids)
        if ids.is_floating_point() or not distinct or ids.min() < 0:
            raise ValueError(f"{IDS} are not distinct integers")
        own = DraftLayers(folder.name, ids.long(), parts)
        assert own.layers
    except Exception as error:  # every reader of a damaged file raises its own kind
        raise FlybenchError(
            f"The draft in {folder} cannot be read ({type(error).__name__}): {WEIGHTS} must have "
            f"its layers and {IDS}; download or train it again."
        ) from error
    return own


def save_layers(model: PreTrainedModel, ids: Tensor, folder: Path, target: str) -> None:
    """Write the layers and the norm of `model` in bf16, and `ids` [V_d], for the named `target`."""
    folder.mkdir(parents=True, exist_ok=True)
    state = model.get_decoder().state_dict()
    own = {name: part.bfloat16().cpu() for name, part in state.items() if name.startswith(OWN)}
    save_file(own | {IDS: ids.int().cpu()}, folder / WEIGHTS, metadata={"format": "pt"})
    config = {
        "model_type": KIND,
        "target": target,
        "num_hidden_layers": model.config.num_hidden_layers,
        "hidden_size": model.config.hidden_size,
        "draft_vocab_size": len(ids),
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def attach_layers(target: PreTrainedModel, own: DraftLayers) -> PreTrainedModel:
    """Return the draft, which shares the other tensors of `target`; `target` is not changed.

    Raises:
        FlybenchError: it is made for a target of other sizes.
    """
    draft = same_weights(target)
    config = draft.config = copy.deepcopy(target.config)
    config.num_hidden_layers = own.layers
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[: own.layers]
    decoder: Any = draft.get_decoder()
    decoder.config = config
    layer = type(decoder.layers[0])
    with torch.device("meta"):
        decoder.layers = nn.ModuleList(layer(config, index) for index in range(own.layers))
    needed = {n: p for n, p in decoder.state_dict().items() if n.startswith(OWN)}
    _check_parts(needed, own, target)
    if int(own.ids.max()) >= config.vocab_size:
        raise FlybenchError(
            f"The draft model in {own.name} can propose id {int(own.ids.max())}, but the target "
            f"has only {config.vocab_size} ids: choose the target that it was trained for."
        )
    placed = {n: own.parts[n].to(target.device, target.dtype) for n in needed}
    decoder.load_state_dict(placed, assign=True, strict=False)
    return draft.eval().requires_grad_(False)


def _check_parts(needed: Mapping[str, Tensor], own: DraftLayers, target: PreTrainedModel) -> None:
    wrong = sorted(set(needed) ^ set(own.parts))
    wrong += [n for n, p in needed.items() if n in own.parts and own.parts[n].shape != p.shape]
    if wrong:
        raise FlybenchError(
            f"The draft model in {own.name} was trained for another target, not this "
            f"{type(target).__name__} with hidden size {target.config.hidden_size}: {len(wrong)} "
            f"of {len(needed)} tensors do not fit, such as {wrong[0]}; train or choose another one."
        )
