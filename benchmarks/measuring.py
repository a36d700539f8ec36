"""Helpers of the benchmarks: the machine, times of calls, models by name or path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import ArrayLike

from flybench.analysis.latency.timing import Effort, time_calls
from flybench.config import EngineConfig, ModelRef
from flybench.engine.loading.description import describe
from flybench.engine.loading.load import load_model
from flybench.engine.loading.shapes import SHAPES, random_weights, shape_config
from flybench.measure.clock import Clock
from flybench.measure.environment import device_name
from flybench.metrics.stats import Interval, bootstrap


def machine(device: torch.device) -> dict[str, str]:
    """Return the device and the versions that figures depend on."""
    return {
        "device": device_name(device),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def milliseconds(work: Callable[[], Any], device: torch.device, repeats: int = 30) -> float:
    """Return the median time of a call of `work`, on the harness's clock."""
    effort = Effort(warmup=1, least=repeats, most=repeats, seconds=0, rounds=0)
    return 1000 * time_calls(work, Clock(device), effort).median_s


def mean_ratio(above: ArrayLike, below: ArrayLike) -> tuple[float, Interval | None]:
    """Return the geometric mean of paired ratios above ÷ below [n], and its interval."""
    gains = np.log(above) - np.log(below)
    ends = bootstrap(lambda gain, n: np.exp(gain / n), gains, np.ones(len(gains)))
    return float(np.exp(gains.mean())), ends


def model_of(name: str, device: torch.device, ranks: int = 1) -> transformers.PreTrainedModel:
    """Return random weights of a shape, in bf16 on CUDA and fp32 elsewhere, or a model by its path.

    With several `ranks` under torchrun, each rank gets its part.
    """
    if name in SHAPES:
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        return random_weights(shape_config(name), dtype, device, ranks > 1)
    return load_model(
        describe(ModelRef(name)), EngineConfig(device=str(device), tp=ranks), ranks > 1
    )
