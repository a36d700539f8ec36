"""Loads a draft-target pair: tokenizers and limits first, weights last.

`describe` answers everything that can be checked without weights; `load` then loads them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from flybench.config import EngineConfig, ModelConfig, ModelRef
from flybench.core import FlybenchError
from flybench.engine.eager import EagerModel, EagerTarget
from flybench.engine.footprint import Footprint, footprint
from flybench.engine.layer_skip import kept_layers, without_layers
from flybench.engine.pairing import check_same_tokens, shared_vocab_size
from flybench.engine.random_models import byte_tokenizer, random_model
from flybench.engine.source import Source, fingerprint, local_folder, locate

DEVICES = ("cpu", "cuda", "mps", "xpu")
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class ModelInfo:
    """What is known of a model before its weights are loaded."""

    ref: ModelRef
    source: Source
    tokenizer: PreTrainedTokenizerBase
    context_limit: int
    vocab_size: int
    eos_ids: frozenset[int]
    stored_dtype: torch.dtype
    files: dict[str, str]


@dataclass(frozen=True)
class Pair:
    """A loaded pair with what each model reads for a token.

    `draft` and its footprint are None where the method needs no draft model.
    """

    target: EagerTarget
    draft: EagerModel | None
    dtype: torch.dtype
    target_footprint: Footprint
    draft_footprint: Footprint | None


def describe(ref: ModelRef) -> ModelInfo:
    """Everything but the weights.

    Raises:
        FlybenchError: the model cannot be found or fetched, or it knows no end-of-sequence id.
    """
    source = locate(ref)
    if source.kind == "random":
        model = random_model(source.location)
        tokenizer: PreTrainedTokenizerBase = byte_tokenizer()
        config: PretrainedConfig = model.config
        generation: GenerationConfig | None = model.generation_config
    else:
        folder = local_folder(source)
        tokenizer = _read(AutoTokenizer, ref, folder)
        config = _read(AutoConfig, ref, folder)
        known = (folder / "generation_config.json").is_file()
        generation = _read(GenerationConfig, ref, folder) if known else None
    text = config.get_text_config()
    if not getattr(text, "max_position_embeddings", None):
        raise FlybenchError(
            f"{ref.path} is of type {text.model_type}, which names no context limit "
            "(max_position_embeddings): choose a decoder model with attention layers."
        )
    if ref.skip_layers is not None:
        kept_layers(text.num_hidden_layers, *ref.skip_layers)
    return ModelInfo(
        ref=ref,
        source=source,
        tokenizer=tokenizer,
        context_limit=text.max_position_embeddings,
        vocab_size=text.vocab_size,
        eos_ids=_eos_ids(ref, tokenizer, config, generation),
        stored_dtype=_stored_dtype(source, config),
        files=fingerprint(source),
    )


def describe_pair(config: ModelConfig, with_draft: bool) -> tuple[ModelInfo, ModelInfo | None, int]:
    """Both models' descriptions and the number of ids that they share.

    Raises:
        FlybenchError: the two tokenizers differ.
    """
    target = describe(config.target)
    if not with_draft or config.draft is None:
        return target, None, shared_vocab_size(target.tokenizer, target.vocab_size)
    draft = describe(config.draft)
    check_same_tokens(target.tokenizer, draft.tokenizer)
    sizes = (target.vocab_size, draft.vocab_size)
    return target, draft, shared_vocab_size(target.tokenizer, *sizes)


def load_pair(
    target: ModelInfo, draft: ModelInfo | None, vocab_size: int, engine: EngineConfig
) -> Pair:
    """Load the weights of a described pair."""
    whole = _load(target, engine)
    large = _skipping(whole, target.ref)
    on_target = EagerTarget(EagerModel(large, vocab_size))
    if draft is None:
        return Pair(on_target, None, whole.dtype, footprint(large), None)
    # A draft that only leaves layers out shares the target's tensors.
    same = replace(draft.ref, skip_layers=None) == replace(target.ref, skip_layers=None)
    base = whole if same else _load(draft, engine)
    small = _skipping(base, draft.ref)
    on_draft = EagerModel(small, vocab_size)
    return Pair(on_target, on_draft, whole.dtype, footprint(large), footprint(small))


def resolve_device(name: str) -> torch.device:
    """`auto` is the first CUDA card, else the CPU.

    Raises:
        FlybenchError: the device does not exist here.
    """
    if name == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if device.type not in DEVICES:
            raise RuntimeError(f"{device.type} is not one of {', '.join(DEVICES)}")
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise FlybenchError(
            f"The device {name!r} cannot be used here: use auto, cpu or cuda:N, and see "
            "`flybench doctor`."
        ) from error
    return device


def _skipping(model: PreTrainedModel, ref: ModelRef) -> PreTrainedModel:
    return without_layers(model, *ref.skip_layers) if ref.skip_layers else model


def _load(info: ModelInfo, engine: EngineConfig) -> PreTrainedModel:
    name = info.ref.device if info.ref.device != "auto" else engine.device
    device = None if name == "balanced" else resolve_device(name)
    chosen = info.ref.dtype if info.ref.dtype != "auto" else engine.dtype
    on_cpu = device is not None and device.type == "cpu"
    automatic = torch.float32 if on_cpu else info.stored_dtype
    dtype = automatic if chosen == "auto" else DTYPES[chosen]
    if info.source.kind == "random":
        model = random_model(info.source.location)
        return model.to(device=device, dtype=dtype)  # type: ignore[call-arg]
    folder = local_folder(info.source)
    place = device or "balanced"
    model, found = _read(
        AutoModelForCausalLM,
        info.ref,
        folder,
        dtype=dtype,
        device_map=place,
        output_loading_info=True,
    )
    # transformers fills what a file lacks with random numbers, and goes on.
    missing = sorted(found["missing_keys"]) + [str(key) for key in found["mismatched_keys"]]
    if missing:
        raise FlybenchError(
            f"{info.ref.path} lacks {len(missing)} of the model's weights, {missing[0]} first: "
            "fetch it again, or check that config.json belongs to these weights."
        )
    return model.eval()


def _read(kind: Any, ref: ModelRef, folder: Path, **options: Any) -> Any:
    """What `kind` reads from a folder.

    Raises:
        FlybenchError: a file is missing or damaged, or the model needs code of its own.
    """
    try:
        return kind.from_pretrained(folder, trust_remote_code=ref.trust_remote_code, **options)
    except Exception as error:  # every reader of a damaged file raises its own kind
        said = (str(error).strip() or type(error).__name__).splitlines()[0].split(". ")[0]
        remedy = "check that it is complete and in Hugging Face format"
        if "trust_remote_code" in str(error):
            remedy = "it needs code of its own, so set trust_remote_code=true if you trust it"
        raise FlybenchError(
            f"{kind.__name__} cannot read {ref.path} ({said.rstrip(' .:')}): {remedy}."
        ) from error


def _eos_ids(
    ref: ModelRef,
    tokenizer: PreTrainedTokenizerBase,
    config: PretrainedConfig,
    generation: GenerationConfig | None,
) -> frozenset[int]:
    """Every id that ends an answer: those of the generation config and the tokenizer's own."""
    found = generation.eos_token_id if generation is not None else config.eos_token_id
    listed = found if isinstance(found, list) else [found]
    ids = {i for i in (*listed, tokenizer.eos_token_id) if isinstance(i, int)}
    if not ids:
        raise FlybenchError(
            f"{ref.path} names no end-of-sequence id: add eos_token_id to its "
            "generation_config.json, otherwise every answer runs to the cap."
        )
    return frozenset(ids)


def _stored_dtype(source: Source, config: PretrainedConfig) -> torch.dtype:
    """The dtype that `auto` means on a GPU. Dequantised GGUF weights carry no more than bf16."""
    stored = getattr(config, "dtype", None) or torch.bfloat16
    if isinstance(stored, str):
        stored = getattr(torch, stored)
    return torch.bfloat16 if source.kind == "gguf" else stored
