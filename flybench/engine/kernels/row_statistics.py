"""The statistics of logit rows that verifiers need, in one pass over the vocabulary."""

from __future__ import annotations

import torch
from torch import Tensor

from flybench.core.drafts import RowStatistics


def row_statistics(logits: Tensor) -> RowStatistics:
    """Statistics of logits [R, V] of any float type."""
    return RowStatistics(*torch.ops.flybench.row_statistics(logits))


@torch.library.custom_op("flybench::row_statistics", mutates_args=())
def _row_statistics(logits: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(choice, top, log_normaliser, entropy), see `RowStatistics`."""
    found = RowStatistics.of(logits.float())
    return found.choice, found.top, found.log_normaliser, found.entropy


@_row_statistics.register_fake
def _(logits: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    rows, vocab = logits.shape
    single = logits.new_empty(rows, dtype=torch.float32)
    top = logits.new_empty(rows, min(3, vocab), dtype=torch.float32)
    return logits.new_empty(rows, dtype=torch.long), top, single, single.clone()


@_row_statistics.register_kernel("cuda")
def _(logits: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    from flybench.engine.kernels.cuda.row_statistics import launch

    return launch(logits)
