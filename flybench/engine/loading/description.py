"""Description of a model before its weights are loaded: tokenizer, limits, types, files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoTokenizer,
    GenerationConfig,
    PretrainedConfig,
    PreTrainedTokenizerBase,
)

from flybench.config import ModelConfig, ModelRef
from flybench.core.errors import FlybenchError
from flybench.engine.drafters.layer_skip import kept_layers
from flybench.engine.drafters.shared_embeddings import DraftLayers, read_layers, shares_embeddings
from flybench.engine.drafters.vocabulary_trim import frequent_ids
from flybench.engine.graph.support import unsupported_reason, windowed
from flybench.engine.loading.pairing import check_same_tokens, shared_vocab_size
from flybench.engine.loading.quantised import quantisation
from flybench.engine.loading.random_models import byte_tokenizer, random_model
from flybench.engine.loading.source import Source, fingerprint, local_folder, locate


@dataclass(frozen=True)
class ModelInfo:
    """Description of a model before its weights are loaded.

    `graph_unsupported_reason` is the reason why the graph engine cannot run it, None if it can;
    `key_heads` the number of parts that its attention can be split into; `quantisation` the format
    of quantised weights; `draft_layers` the layers of a draft that shares its target's embeddings.
    """

    ref: ModelRef
    source: Source
    tokenizer: PreTrainedTokenizerBase
    context_limit: int
    vocab_size: int
    eos_ids: frozenset[int]
    stored_dtype: torch.dtype
    files: dict[str, str]
    graph_unsupported_reason: str | None
    windowed: bool
    key_heads: int
    quantisation: str | None
    draft_layers: DraftLayers | None = None

    @property
    def draft_ids(self) -> torch.Tensor | None:
        """Ids that a draft model with a trimmed vocabulary scores [V_d]; None for all."""
        if self.draft_layers is not None:
            return self.draft_layers.scored(self.ref.vocab_trim)
        if self.ref.vocab_trim is None:
            return None
        return frequent_ids(self.tokenizer, self.ref.vocab_trim, self.vocab_size)


PairInfo = tuple[ModelInfo, ModelInfo | None, int]
"""Target, draft, and the number of ids that they share."""
DescribePair = Callable[[ModelConfig, bool], PairInfo]
"""What `describe_pair` does, and `describing_once` for many runs."""


def describe(ref: ModelRef) -> ModelInfo:
    """Describe a model without loading its weights.

    Raises:
        FlybenchError: the model cannot be found or downloaded, or it has no end-of-sequence id.
    """
    source = locate(ref)
    if source.kind == "random":
        model = random_model(source.location)
        tokenizer: PreTrainedTokenizerBase = byte_tokenizer()
        config: PretrainedConfig = model.config
        generation: GenerationConfig | None = model.generation_config
    else:
        folder = local_folder(source)
        if shares_embeddings(folder):
            raise FlybenchError(
                f"{ref.path} is a draft model that shares its target's embeddings, not a complete "
                "model: use it as model.draft.path."
            )
        tokenizer = read_with(AutoTokenizer, ref, folder)
        config = read_with(AutoConfig, ref, folder)
        known = (folder / "generation_config.json").is_file()
        generation = read_with(GenerationConfig, ref, folder) if known else None
    text = config.get_text_config()
    if not getattr(text, "max_position_embeddings", None):
        raise FlybenchError(
            f"{ref.path} is of type {text.model_type}, which has no context limit "
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
        graph_unsupported_reason=unsupported_reason(config),
        windowed=windowed(config),
        quantisation=quantisation(ref, config),
        key_heads=getattr(text, "num_key_value_heads", None) or text.num_attention_heads,
    )


def describe_pair(
    config: ModelConfig, with_draft: bool, describe: Callable[[ModelRef], ModelInfo] = describe
) -> PairInfo:
    """Describe both models, and return the size of their shared vocabulary as well.

    Raises:
        FlybenchError: the two tokenizers differ.
    """
    target = describe(config.target)
    if not with_draft or config.draft is None:
        return target, None, shared_vocab_size(target.tokenizer, target.vocab_size)
    draft = _draft_of_target(config.draft, target) or describe(config.draft)
    check_same_tokens(target.tokenizer, draft.tokenizer)
    sizes = (target.vocab_size, draft.vocab_size)
    return target, draft, shared_vocab_size(target.tokenizer, *sizes)


def describing_once() -> DescribePair:
    """Return a `describe_pair` for many runs that reads each model once and compares each pair
    once."""
    return lru_cache(None)(partial(describe_pair, describe=lru_cache(None)(describe)))


def _draft_of_target(ref: ModelRef, target: ModelInfo) -> ModelInfo | None:
    """Describe a draft that shares the embeddings of `target`, and all but its layers."""
    own = find_draft_layers(ref)
    if own is None:
        return None
    source = locate(ref)
    files = fingerprint(source)
    return replace(target, ref=ref, source=source, files=files, quantisation=None, draft_layers=own)


def find_draft_layers(ref: ModelRef) -> DraftLayers | None:
    """Return the layers of a draft that shares its target's embeddings; None for other models.

    Raises:
        FlybenchError: it is damaged, or a setting needs a complete model.
    """
    source = locate(ref)
    if source.kind not in ("hub", "folder") or not shares_embeddings(
        folder := local_folder(source)
    ):
        return None
    for name in ("skip_layers", "quantize"):
        if getattr(ref, name) is not None:
            raise FlybenchError(
                f"model.draft.{name}={getattr(ref, name)} is not allowed for {ref.path}, which "
                f"shares its target's embeddings: remove it, or set model.draft.{name}=null."
            )
    return read_layers(folder)


def read_with(kind: Any, ref: ModelRef, folder: Path, **options: Any) -> Any:
    """Read the object of `kind` from a folder.

    Raises:
        FlybenchError: a file is missing or damaged, or the model needs custom code.
    """
    try:
        return kind.from_pretrained(folder, trust_remote_code=ref.trust_remote_code, **options)
    except Exception as error:  # every reader of a damaged file raises its own kind
        said = (str(error).strip() or type(error).__name__).splitlines()[0].split(". ")[0]
        remedy = "check that it is complete and in Hugging Face format"
        if "trust_remote_code" in str(error):
            remedy = "it needs custom code, so set trust_remote_code=true if you trust it"
        raise FlybenchError(
            f"{kind.__name__} cannot read {ref.path} ({said.rstrip(' .:')}): {remedy}."
        ) from error


def _eos_ids(
    ref: ModelRef,
    tokenizer: PreTrainedTokenizerBase,
    config: PretrainedConfig,
    generation: GenerationConfig | None,
) -> frozenset[int]:
    """Return every id that ends an answer: those of the generation config and of the tokenizer."""
    found = generation.eos_token_id if generation is not None else config.eos_token_id
    listed = found if isinstance(found, list) else [found]
    ids = {i for i in (*listed, tokenizer.eos_token_id) if isinstance(i, int)}
    if not ids:
        raise FlybenchError(
            f"{ref.path} has no end-of-sequence id: add eos_token_id to its "
            "generation_config.json, because otherwise every answer runs to the length limit."
        )
    return frozenset(ids)


def _stored_dtype(source: Source, config: PretrainedConfig) -> torch.dtype:
    """Return the dtype for `auto` on a GPU; dequantised GGUF weights have the precision of bf16."""
    stored = getattr(config, "dtype", None) or torch.bfloat16
    if isinstance(stored, str):
        stored = getattr(torch, stored)
    return torch.bfloat16 if source.kind == "gguf" else stored
