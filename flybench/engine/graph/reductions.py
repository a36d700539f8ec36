"""Compiled reductions with the same order of additions for any number of rows.

Inductor lays a reduction out by its number of rows. One that loops over a row of 1,025 to 2,048
values takes two rows at a time where there are two; one that holds a row of fewer than 256 values
at once is tuned for each number of rows. Both orders differ from that of a single row, and in bf16
that can make a verified token differ from AR's. Here rows of 256 values and more are held at once,
one to a program, and shorter ones are looped over, two to a program from two on, however many
(torch 2.11 and 2.13, read in `torch/_inductor/runtime/triton_heuristics.py`).
"""

from __future__ import annotations

from typing import Any

from torch._inductor import config
from torch._inductor.choices import InductorChoices
from torch._inductor.codegen.simd_kernel_features import SIMDKernelFeatures
from torch._inductor.runtime.hints import ReductionHint
from torch._inductor.virtualized import V

HELD = (256, 16_384)  # values of a row that one program holds at once, at least and at most


class RowInvariantReductions(InductorChoices):
    """Inductor's choices except for reductions along contiguous rows of a known length."""

    def uuid(self) -> str:
        """Key that separates its kernels from others in Inductor's cache."""
        return f"flybench row-invariant reductions {HELD}"

    @staticmethod
    def should_use_persistent_reduction(
        features: SIMDKernelFeatures, cooperative_reduction: bool
    ) -> bool:
        """Return whether a program holds its rows at once instead of looping over them."""
        if features.get_reduction_hint() is not ReductionHint.INNER or cooperative_reduction:
            own = InductorChoices.should_use_persistent_reduction
            return own(features, cooperative_reduction)
        known: Any = V.graph.sizevars
        return bool(
            known.statically_known_geq(features.reduction_numel, HELD[0])
            and known.statically_known_leq(features.reduction_numel, HELD[1])
        )


def use_row_invariant_reductions() -> None:
    """Use these choices for everything that this process compiles from now on."""
    # Inductor asks the handler; the setting makes its cache of compiled code know of it.
    config.inductor_choices_class = RowInvariantReductions
    V.set_choices_handler(RowInvariantReductions())
