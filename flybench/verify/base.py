"""What a verifier is, and the walk that turns per-node decisions into a verdict.

To add a rule: a file beside this one with a class whose `judge` is pure, a line in
`flybench/verify/__init__.py`, a YAML in `conf/method/`, and a test against a slow reference.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from flybench.core import Fate, Verdict
from flybench.engine.base import Judge


class Verifier(Judge, Protocol):
    """Decides which drafted tokens stay: pure, vectorised, without waiting for the device.

    `judge` gives a verdict on `draft` [N] from the target's `view` [N+1, V] of it.
    """


def accepted_prefix(keep: Tensor) -> Tensor:
    """Length of the run of kept nodes from the start of a chain: [N] bool → [] int64."""
    return keep.long().cumprod(0).sum()


def chain_verdict(accepted: Tensor, next_token: Tensor, fates: Tensor) -> Verdict:
    """The verdict on a chain: its first `accepted` nodes, every later fate but one unvisited."""
    nodes = torch.arange(fates.shape[0], device=fates.device)
    visited = nodes <= accepted
    return Verdict(accepted, nodes, next_token, fates.where(visited, int(Fate.UNVISITED)))


def pick(values: Tensor, index: Tensor) -> Tensor:
    """`values[index]` along the first axis for a device scalar, without a host read."""
    return values.index_select(0, index[None]).squeeze(0)
