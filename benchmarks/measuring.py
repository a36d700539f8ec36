"""What the benchmark scripts share: the machine, times of launches, models by name or path."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import torch
import transformers

from flybench.config import EngineConfig, ModelRef
from flybench.engine.description import describe
from flybench.engine.loading import load_model
from flybench.engine.shapes import SHAPES, random_weights, shape_config
from flybench.measure import device_name


def machine(device: torch.device) -> dict[str, str]:
    """What a figure is worthless without."""
    return {
        "device": device_name(device),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def milliseconds(work: Callable[[], Any], repeats: int = 30) -> float:
    """Median time of `work` on a CUDA device, between two of its events."""
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def model_of(name: str, device: torch.device, ranks: int = 1) -> transformers.PreTrainedModel:
    """A shape with random weights, in bf16 on CUDA and fp32 elsewhere, or a model by its path.

    Of several `ranks` under torchrun, each gets its part.
    """
    if name in SHAPES:
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        return random_weights(shape_config(name), dtype, device, ranks > 1)
    return load_model(
        describe(ModelRef(name)), EngineConfig(device=str(device), tp=ranks), ranks > 1
    )
