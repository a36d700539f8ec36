"""Processes that run one model together under torchrun: who this one is, and how they agree.

    torchrun --nproc-per-node=4 -m flybench run engine.tp=4 …

Rank 0 leads: it alone writes the run's folder and prints. All ranks decode in step, each the same
tokens, so whatever decides what comes next is taken from rank 0.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

T = TypeVar("T")


def rank() -> int:
    """This process's number; 0 outside torchrun."""
    return int(os.environ.get("RANK", 0))


def local_rank() -> int:
    """This process's number on its host, which is also the card that it uses."""
    return int(os.environ.get("LOCAL_RANK", 0))


def world_size() -> int:
    """How many processes run together; 1 outside torchrun."""
    return int(os.environ.get("WORLD_SIZE", 1))


def join(device: torch.device) -> None:
    """Meet the other processes, once; alone, there is nobody to meet."""
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
    """Rank 0's `value`, which must survive pickling."""
    if world_size() == 1:
        return value
    import torch.distributed as dist

    box = [value]
    dist.broadcast_object_list(box, src=0)
    return box[0]
