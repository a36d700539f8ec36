"""Sampling settings and their checks, which need no PyTorch."""

from __future__ import annotations

from dataclasses import dataclass

from flybench.core.errors import FlybenchError


@dataclass(frozen=True)
class SamplingSettings:
    """Sampling settings. Temperature 0 is greedy; `top_k` 0 and `top_p` 1 disable the filters.

    Raises:
        FlybenchError: a setting is outside its range.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if self.temperature and not 1e-3 <= self.temperature <= 10:
            raise FlybenchError(
                f"sampling.temperature={self.temperature:g} is not allowed: "
                "use 0 for greedy decoding or a value from 0.001 to 10."
            )
        if self.top_k < 0:
            raise FlybenchError(
                f"sampling.top_k={self.top_k} is not allowed: use 0 for off or a positive number."
            )
        if not 0 < self.top_p <= 1:
            raise FlybenchError(
                f"sampling.top_p={self.top_p:g} is not allowed: use 1 for off or a value in (0, 1)."
            )
        if self.greedy and (self.top_k or self.top_p < 1):
            raise FlybenchError(
                "sampling.top_k and sampling.top_p have no effect at temperature 0: "
                "set sampling.temperature above 0 or leave them at 0 and 1."
            )

    @property
    def greedy(self) -> bool:
        return self.temperature == 0
