"""Read heads in the three public formats, and write the vllm-project/speculators format."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedModel

from flybench.config import ModelRef
from flybench.core.errors import FlybenchError
from flybench.engine.eagle3.checkpoint_layout import head_config
from flybench.engine.eagle3.head import Eagle3Head, HeadConfig
from flybench.engine.loading.source import MODEL_FILES, Source, fingerprint, local_folder, locate

Tensors = dict[str, Tensor]
# Tensors of checkpoints that a head does not need.
IGNORED = re.compile(r"^verifier_|rotary_emb\.")


@dataclass(frozen=True)
class HeadSource:
    """The folder of a head, the hashes of its files, and the maximum length it was trained for."""

    folder: Path
    files: dict[str, str]
    context_limit: int | None = None

    def caution(self, longest: int) -> str | None:
        """Return a warning if a run's sequences can exceed the training length, else None."""
        if self.context_limit is None or longest <= self.context_limit:
            return None
        return (
            f"The EAGLE-3 head {self.folder.name} was trained for texts of up to "
            f"{self.context_limit:,} tokens, and samples of this run may reach {longest:,}: beyond "
            "that length its drafts may be worse, which costs speed but not accuracy."
        )


def find_head(path: str) -> HeadSource:
    """Find a head by its Hugging Face Hub id or folder; it is downloaded, but not read.

    Raises:
        FlybenchError: there is no such head.
    """
    source = locate(ModelRef(path))
    if source.kind not in ("hub", "folder"):
        raise FlybenchError(
            f"model.eagle3={path} is neither a Hugging Face Hub id nor an existing folder: "
            "check the path."
        )
    folder = local_folder(source, MODEL_FILES)
    return HeadSource(folder, fingerprint(Source("folder", str(folder))), _context_limit(folder))


def load_head(folder: Path, target: PreTrainedModel) -> Eagle3Head:
    """Load the head in `folder` on the device of `target`; missing embeddings are shared.

    Raises:
        FlybenchError: it is damaged, or made for another target; the message names the difference.
    """
    name, config = folder.name, target.config.get_text_config()
    found, tensors = _read_config(folder), _read_tensors(folder)
    head_of = head_config(found, tensors, config, name)
    _check_sizes(head_of, tensors, name)
    with torch.device("meta"):
        head = Eagle3Head(head_of)
    shared = _shared(head_of, target)
    needed = {key: value for key, value in head.state_dict().items() if key not in shared}
    tensors |= _vocabulary(head_of, tensors, name)
    if missing := sorted(set(needed) - set(tensors)):
        raise FlybenchError(
            f"{name} lacks {len(missing)} tensors of an EAGLE-3 head, such as {missing[0]}: "
            "download it again, or use another head."
        )
    if strange := sorted(set(tensors) - set(needed) - set(shared)):
        raise FlybenchError(
            f"{name} has {len(strange)} unexpected tensors for an EAGLE-3 head, such as "
            f"{strange[0]}: this kind of head is not supported."
        )
    for key, value in needed.items():
        if tensors[key].shape != value.shape:
            raise FlybenchError(
                f"{key} of {name} has shape {list(tensors[key].shape)}, expected "
                f"{list(value.shape)}: its config.json does not match its weights."
            )
    placed = {
        key: tensors[key].to(
            target.device, target.dtype if value.is_floating_point() else value.dtype
        )
        for key, value in needed.items()
    }
    head.load_state_dict(placed | shared, assign=True, strict=True)
    # Its frequencies are computed by its constructor and are not in checkpoints.
    with torch.device(target.device):
        head.rotary = type(head.rotary)(head_of.layer)
    return head.eval().requires_grad_(False)


def save_head(head: Eagle3Head, folder: Path, verifier: str, speculative_tokens: int) -> None:
    """Write a head for the target `verifier`, in the format of serving engines."""
    config = head.config
    folder.mkdir(parents=True, exist_ok=True)
    layer = config.layer.to_dict() | {"num_hidden_layers": 1, "vocab_size": config.vocab_size}
    written: dict[str, Any] = {
        "architectures": ["Eagle3Speculator"],
        "speculators_model_type": "eagle3",
        "model_type": "speculator_model",
        "draft_vocab_size": config.draft_vocab_size or config.vocab_size,
        "norm_before_residual": config.norm_before_residual,
        "norm_before_fc": config.norm_before_fc,
        "norm_output": config.norm_output,
        "fc_norm": config.fc_norm,
        "target_hidden_size": config.target_hidden_size,
        "eagle_aux_hidden_state_layer_ids": list(config.taps),
        "transformer_layer_config": layer | {"model_type": "llama"},
        "speculators_config": {
            "algorithm": "eagle3",
            "default_proposal_method": "greedy",
            "proposal_methods": [
                {"proposal_type": "greedy", "speculative_tokens": speculative_tokens}
            ],
            "verifier": {"name_or_path": verifier, "architectures": []},
        },
    }
    (folder / "config.json").write_text(json.dumps(written, indent=2, default=str) + "\n")
    drop = () if config.own_embeddings else ("embed_tokens.weight",)
    tensors = {k: v.contiguous().cpu() for k, v in head.state_dict().items() if k not in drop}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def _read_config(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise FlybenchError(f"{folder} has no config.json that can be read: check the path.")
    return found


def _context_limit(folder: Path) -> int | None:
    found = _read_config(folder)
    layer = found.get("transformer_layer_config") or found
    limit = layer.get("max_position_embeddings") if isinstance(layer, dict) else None
    return limit if isinstance(limit, int) else None


def _read_tensors(folder: Path) -> Tensors:
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    found: Tensors = {}
    try:
        for file in files:
            found |= (
                load_file(file)
                if file.suffix == ".safetensors"
                else torch.load(file, map_location="cpu", weights_only=True)
            )
    except Exception as error:  # each reader of a damaged file raises its own kind
        raise FlybenchError(
            f"{file} cannot be read ({type(error).__name__}): download it again."
        ) from error
    if not found:
        raise FlybenchError(
            f"{folder} has no weights: a head is model.safetensors or pytorch_model.bin."
        )
    plain = {key.removeprefix("model."): value for key, value in found.items()}
    named = {re.sub(r"^midlayer\.", "layers.0.", key): value for key, value in plain.items()}
    return {key: value for key, value in named.items() if not IGNORED.search(key)}


def _check_sizes(config: HeadConfig, tensors: Tensors, name: str) -> None:
    fc, width = tensors.get("fc.weight"), config.target_hidden_size
    if fc is not None and fc.shape[1] != 3 * width:
        raise FlybenchError(
            f"{name} expects {fc.shape[1]} concatenated features, but this target has 3 · "
            f"{width} = {3 * width}: use a head that was trained for this target."
        )
    if not config.own_embeddings and config.layer.hidden_size != width:
        raise FlybenchError(
            f"{name} has hidden size {config.layer.hidden_size}, its target {width}, and the head "
            "has no embeddings: download it again, or use another head."
        )


def _shared(config: HeadConfig, target: PreTrainedModel) -> Tensors:
    """Return the target's tensors that the head shares."""
    shared: dict[str, Any] = {}
    if not config.own_embeddings:
        shared["embed_tokens.weight"] = target.get_input_embeddings().weight
    if config.draft_vocab_size is None:
        shared["lm_head.weight"] = target.get_output_embeddings().weight
    return shared


def _vocabulary(config: HeadConfig, tensors: Tensors, name: str) -> Tensors:
    """Return the two maps between vocabularies, from whichever the checkpoint has.

    Raises:
        FlybenchError: they contradict each other, the sizes, or the target's vocabulary.
    """
    size, vocab = config.draft_vocab_size or config.vocab_size, config.vocab_size
    d2t = tensors.get("d2t")
    if d2t is None:
        if size != vocab:
            raise FlybenchError(
                f"{name} drafts {size} of {vocab} ids but has no d2t mapping: download it again."
            )
        d2t = torch.zeros(size, dtype=torch.long)
    ids = torch.arange(len(d2t)) + d2t.long()
    if len(d2t) != size or ids.min() < 0 or ids.max() >= vocab:
        raise FlybenchError(
            f"d2t of {name} maps {len(d2t)} ids to {int(ids.min())}…{int(ids.max())}, but should "
            f"map {size} ids to 0…{vocab - 1}: use a head that was trained for this target."
        )
    mask = torch.zeros(vocab, dtype=torch.bool).index_fill(0, ids, True)
    t2d = tensors.get("t2d")
    if t2d is not None and not torch.equal(t2d.bool(), mask):
        raise FlybenchError(
            f"t2d of {name} does not mark the ids that its d2t maps to: download it again, "
            "or use another head."
        )
    return {"d2t": d2t.long(), "t2d": mask}
