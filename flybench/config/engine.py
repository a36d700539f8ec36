"""How models run, and how tokens are drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flybench.config.checks import allow, positive
from flybench.core.sampling import SamplingSettings

if TYPE_CHECKING:
    from flybench.sampling import Sampling


@dataclass(frozen=True)
class EngineConfig:
    """How models run: `auto` is graph on CUDA for models that it serves, eager otherwise.

    dtype and device `auto` follow the machine; a model may set its own. `threads` None means every
    physical core that the process may use; `tp` is the number of ranks that share the target.
    `row_invariant`, on the graph engine, gives a token the same bits whether it is read alone or in
    a draft; without it one token alone is read by faster products.
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
    """Temperature 0 is greedy. A model's own sampling defaults are never applied."""

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
        """The sampling rule of these settings."""
        from flybench.sampling import Sampling  # PyTorch takes seconds; settings are checked before

        return Sampling(self.temperature, self.top_k, self.top_p)

    def _settings(self) -> SamplingSettings:
        return SamplingSettings(self.temperature, self.top_k, self.top_p)
