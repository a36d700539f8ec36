"""Settings of the engine and of sampling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flybench.config.checks import allow, positive
from flybench.core.sampling import SamplingSettings

if TYPE_CHECKING:
    from flybench.sampling import Sampling


@dataclass(frozen=True)
class EngineConfig:
    """Settings of the engine.

    For `kind`, "auto" means graph on CUDA for supported models, and eager otherwise. For `dtype`
    and `device`, "auto" depends on the machine; a model can override both. `threads=None` uses
    every physical core available to the process. `tp` is the target's tensor-parallel size.
    `row_invariant` makes the graph engine batch-invariant: logits are bitwise identical for a
    token scored alone or in a draft. Without it, single tokens use faster kernels.
    """

    kind: str = "auto"
    dtype: str = "auto"
    device: str = "auto"
    threads: int | None = None
    tp: int = 1
    row_invariant: bool = True

    def __post_init__(self) -> None:
        positive("engine.tp", self.tp)
        if self.threads is not None:
            positive("engine.threads", self.threads)
        allow("engine.kind", self.kind, ("auto", "eager", "graph"))
        allow("engine.dtype", self.dtype, ("auto", "fp32", "bf16", "fp16"))


@dataclass(frozen=True)
class SamplingConfig:
    """Sampling settings; temperature 0 is greedy.

    The defaults of a model's `generation_config.json` are never applied.
    """

    name: str = field(default="greedy", compare=False)
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        self._settings()

    @property
    def greedy(self) -> bool:
        return self._settings().greedy

    def rule(self) -> Sampling:
        """Return the `Sampling` of these settings."""
        from flybench.sampling import Sampling  # imports PyTorch, which takes seconds

        return Sampling(self.temperature, self.top_k, self.top_p)

    def _settings(self) -> SamplingSettings:
        return SamplingSettings(self.temperature, self.top_k, self.top_p)
