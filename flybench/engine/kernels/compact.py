"""Compaction of the kept nodes of a tree, in the caches of all layers at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class Compaction:
    """Compaction of caches [B, KV, L, D] with static addresses."""

    def __init__(self, caches: Sequence[Tensor]) -> None:
        self._caches = caches
        if caches[0].device.type == "cuda":
            addresses = [cache.data_ptr() for cache in caches]
            self._addresses = torch.tensor(addresses, device=caches[0].device)

    def __call__(self, first: Tensor, nodes: Tensor) -> None:
        """Move slot first [1] + nodes[i] [W] to slot first + i, which is never after it."""
        if first.device.type == "cuda":
            from flybench.engine.kernels.cuda.compact import launch

            launch(self._addresses, self._caches[0], first, nodes)
            return
        target = first + torch.arange(len(nodes), device=first.device)
        for cache in self._caches:
            cache.index_copy_(2, target, cache.index_select(2, first + nodes))
