"""Compiled reductions with the same order of additions for any number of rows.

The layout of Inductor's reductions depends on the number of rows. A loop over rows of 1,025 to
2,048 values processes two rows at a time if there are two. A reduction that loads rows of fewer
than 256 values at once is tuned for each number of rows. In both cases the order of additions
differs from that of a single row, so a verified token can differ from AR's in bf16. Here, rows of
at least 256 values are loaded at once, one per program, and shorter rows are looped over, two per
program for any number of rows above one (see `torch/_inductor/runtime/triton_heuristics.py` of
torch 2.11 and 2.13).
"""

from __future__ import annotations

from typing import Any

from torch._inductor import config
from torch._inductor.choices import InductorChoices
from torch._inductor.codegen.simd_kernel_features import SIMDKernelFeatures
from torch._inductor.runtime.hints import ReductionHint
from torch._inductor.virtualized import V

PERSISTENT_RANGE = (
    256,
    16_384,
)  # values of a row that one program holds at once, at least and at most


class RowInvariantReductions(InductorChoices):
    """Inductor's choices except for reductions along contiguous rows of a known length."""

    def uuid(self) -> str:
        """Key that separates its kernels from others in Inductor's cache."""
        return f"flybench row-invariant reductions {PERSISTENT_RANGE}"

    @staticmethod
    def should_use_persistent_reduction(
        features: SIMDKernelFeatures, cooperative_reduction: bool
    ) -> bool:
        """Return True if a program loads its rows at once instead of looping over them."""
        if features.get_reduction_hint() is not ReductionHint.INNER or cooperative_reduction:
            own = InductorChoices.should_use_persistent_reduction
            return own(features, cooperative_reduction)
        known: Any = V.graph.sizevars
        return bool(
            known.statically_known_geq(features.reduction_numel, PERSISTENT_RANGE[0])
            and known.statically_known_leq(features.reduction_numel, PERSISTENT_RANGE[1])
        )


def use_row_invariant_reductions() -> None:
    """Use these choices for everything that this process compiles from now on."""
    # Inductor asks the handler; the setting makes its cache of compiled code know of it.
    config.inductor_choices_class = RowInvariantReductions
    V.set_choices_handler(RowInvariantReductions())
