"""Ranks that run one model together under torchrun.

    torchrun --nproc-per-node=4 -m flybench run engine.tp=4 …

Only rank 0 prints and writes the run's folder. All ranks decode the same tokens in lockstep, so
every decision about what to run next is broadcast from rank 0.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

T = TypeVar("T")


def rank() -> int:
    """Return the rank of this process; 0 outside torchrun."""
    return int(os.environ.get("RANK", 0))


def local_rank() -> int:
    """Return the rank of this process on its host, which is also the index of its GPU."""
    return int(os.environ.get("LOCAL_RANK", 0))


def world_size() -> int:
    """Return the number of ranks; 1 outside torchrun."""
    return int(os.environ.get("WORLD_SIZE", 1))


def join(device: torch.device) -> None:
    """Initialise the process group if it is not initialised yet; a no-op for one process."""
    if world_size() == 1:
        return
    import torch
    import torch.distributed as dist

    if dist.is_initialized():
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", device_id=device)
    else:
        dist.init_process_group("gloo")


def from_leader(value: T) -> T:
    """Return the `value` of rank 0, which must be picklable."""
    if world_size() == 1:
        return value
    import torch.distributed as dist

    box = [value]
    dist.broadcast_object_list(box, src=0)
    return box[0]
