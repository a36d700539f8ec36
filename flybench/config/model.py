"""Settings of the models: where they are, and how they are loaded."""

from __future__ import annotations

from dataclasses import dataclass, field

from flybench.config.checks import allow, named, positive
from flybench.core.errors import FlybenchError


@dataclass(frozen=True)
class ModelRef:
    """One model: where it is and how to load it.

    `path` is a Hugging Face Hub id, a folder, a .gguf file, `package:NAME` (a GGUF inside an
    installed package) or `random:ARCH[:SEED]`. `skip_layers` [first, end) leaves out the layers of
    that range.
    `quantize` stores the weights of linear layers in int8, int4 (torchao) or nf4 (bitsandbytes).
    `vocab_trim` limits the output layer of a draft model to that many frequent ids. `shape` names
    the architecture (`engine/loading/shapes.py`) from which costs are computed without weights.
    """

    path: str
    revision: str | None = None
    dtype: str = "auto"
    device: str = "auto"
    trust_remote_code: bool = False
    skip_layers: tuple[int, int] | None = None
    quantize: str | None = None
    vocab_trim: int | None = None
    # `path` already determines the shape, so models that differ only in it are the same.
    shape: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.vocab_trim is not None:
            positive("model.draft.vocab_trim", self.vocab_trim)
        if self.quantize is not None:
            allow("a model's quantize", self.quantize, ("null", "int8", "int4", "nf4"))
            if self.path.startswith("random:"):
                raise FlybenchError(
                    f"quantize={self.quantize} for {self.path} is not allowed: remove it, because "
                    "only weights loaded from a file can be quantised."
                )
        allow("a model's dtype", self.dtype, ("auto", "fp32", "bf16", "fp16"))
        if self.skip_layers is not None and not 1 <= self.skip_layers[0] < self.skip_layers[1]:
            raise FlybenchError(
                f"skip_layers={list(self.skip_layers)} is not allowed: use [first, end) with "
                "1 <= first < end, because the first layer cannot be skipped."
            )


@dataclass(frozen=True)
class ModelConfig:
    """A target with its draft model or head.

    `gpus` is the number of 80 GB GPUs that the target needs in its dtype; `eagle3` is the Hub id or
    the folder of an EAGLE-3 head for the target.
    """

    name: str
    target: ModelRef
    draft: ModelRef | None = None
    gpus: int = 0
    eagle3: str | None = None
    description: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        named("model.name", self.name)
        if self.target.vocab_trim is not None:
            raise FlybenchError(
                f"model.target.vocab_trim={self.target.vocab_trim} is not allowed: a target must "
                "score every id, so set model.draft.vocab_trim instead."
            )
