"""A complete measurement as a JSON object, the content of latency.json."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch
from tqdm import tqdm

from flybench.analysis.latency.decoding import decoding_costs
from flybench.analysis.latency.pair import TimedPair
from flybench.analysis.latency.sweep import BASE, PassTimer, Rates, points
from flybench.analysis.latency.timing import effort
from flybench.config import MethodConfig, to_tree
from flybench.distributed import rank
from flybench.measure.clock import Clock, peak_memory_bytes, reset_peak_memory
from flybench.measure.environment import device_name
from flybench.sampling import Sampling

Result = dict[str, Any]
# Figures other than the passes: a draft, two verdicts, and the rounds of AR and the method.
OTHERS = 5


def measure(pair: TimedPair, method: MethodConfig, sampling: Sampling, clock: Clock) -> Result:
    """Time every pass of every model, then the parts of decoding.

    Times are in seconds, sizes in bytes, rates in bytes or operations per second; unknown values
    are None.
    """
    device = pair.models["target"].model.device
    where = points(method.k)
    spent = effort(device.type, len(where) * len(pair.models) + OTHERS)
    rates: dict[tuple[torch.device, torch.dtype], Rates] = {}
    models, rows = {}, []
    quiet = True if rank() else None  # None: only on a terminal
    with tqdm(total=len(where) * len(pair.models) + 1, desc="latency", disable=quiet) as bar:
        for role, costed in pair.models.items():
            key = costed.model.device, costed.model.dtype
            rates[key] = rates.get(key) or Rates.of(*key)
            models[role] = costed.facts | asdict(rates[key])
            sweep = PassTimer(costed, pair, rates[key], clock, spent)
            rows += sweep.rows(where, bar.update)
        reset_peak_memory(device)
        costs = decoding_costs(pair, method, sampling, clock, spent)
        bar.update()
    return {
        "model": pair.name,
        "device": device_name(device),
        "device_type": device.type,
        "engine": pair.label,
        "engine_kind": pair.engine.kind,
        "dtype": pair.engine.dtype,
        "weights": pair.weights,
        "models": models,
        "method": to_tree(method),
        "sampling": asdict(sampling),
        "base": asdict(BASE),
        "effort": str(spent),
        "points": rows,
        **costs,
        "peak_memory_bytes": peak_memory_bytes(device),
    }
