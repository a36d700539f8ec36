"""The training loop: schedule, mixed precision, progress, and resuming."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from flybench.train.corpus import Batch

STATE, LOG = "state.pt", "log.jsonl"
LOG_INTERVAL = 10  # steps between device synchronisations for logging
StepMetrics = dict[str, Tensor]
"""Metrics of a step, on the device."""
Loss = Callable[[Batch], tuple[Tensor, StepMetrics]]
Epoch = Callable[[int], Iterator[Batch]]


@dataclass(frozen=True)
class Schedule:
    """Schedule of AdamW: a linear warm-up and a cosine decay to `last` of the peak."""

    steps: int
    lr: float
    warmup: float = 0.03
    last: float = 0.1
    clip: float = 0.5
    save_every: int = 200

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, as a share of the peak."""
        warm = max(self.warmup * self.steps, 1)
        if step < warm:
            return (step + 1) / warm
        done = (step - warm) / max(self.steps - warm, 1)
        return self.last + (1 - self.last) * (1 + math.cos(math.pi * done)) / 2


def optimise(module: nn.Module, loss: Loss, epoch: Epoch, schedule: Schedule, folder: Path) -> None:
    """Train the parameters of `module` that require gradients; a state in `folder` is resumed.

    `epoch` returns the batches of an epoch, the same ones for the same number. Batches are copied
    to the device of the parameters; on CUDA passes run in bf16, with fp32 parameters.
    """
    device = next(module.parameters()).device
    wanted = [weight for weight in module.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(
        wanted, lr=schedule.lr, betas=(0.9, 0.95), weight_decay=0, fused=device.type == "cuda"
    )
    state = _resume(module, optimiser, folder)
    folder.mkdir(parents=True, exist_ok=True)
    module.train()
    bar = tqdm(total=schedule.steps, initial=state["step"], desc="train", disable=None)
    with bar, MetricLogger(folder / LOG, bar) as journal:
        for batch in _from(epoch, state):
            if state["step"] >= schedule.steps:
                break
            for group in optimiser.param_groups:
                group["lr"] = schedule.lr * schedule.rate(state["step"])
            placed = Batch(*(part.to(device, non_blocking=True) for part in batch))
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                value, seen = loss(placed)
            optimiser.zero_grad(set_to_none=True)
            value.backward()
            torch.nn.utils.clip_grad_norm_(wanted, schedule.clip)
            optimiser.step()
            state["step"] += 1
            state["batch"] += 1
            journal.note(state["step"], {"loss": value.detach(), **seen})
            if state["step"] % schedule.save_every == 0 or state["step"] == schedule.steps:
                journal.write()
                _save(module, optimiser, state, folder)
    module.eval()


class MetricLogger:
    """Metrics of every step, on the progress bar and as lines of a file; copied in batches."""

    def __init__(self, path: Path, bar: tqdm[Any]) -> None:
        self._file, self._bar = path.open("a"), bar
        self._steps: list[int] = []
        self._seen: list[StepMetrics] = []

    def __enter__(self) -> MetricLogger:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()

    def note(self, step: int, seen: StepMetrics) -> None:
        self._steps.append(step)
        self._seen.append(seen)
        self._bar.update()
        if len(self._steps) == LOG_INTERVAL:
            self.write()

    def write(self) -> None:
        """Write all metrics since the last call."""
        if not self._steps:
            return
        names = list(self._seen[0])
        rows = torch.stack([torch.stack([s[n].float() for n in names]) for s in self._seen])
        found = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
        for step, figures in zip(self._steps, found, strict=True):
            self._file.write(json.dumps({"step": step, **figures}) + "\n")
        self._file.flush()
        self._bar.set_postfix({name: f"{figure:.3f}" for name, figure in found[-1].items()})
        self._steps, self._seen = [], []


def _from(epoch: Epoch, state: dict[str, Any]) -> Iterator[Batch]:
    """Yield batches endlessly from the position in `state`, which counts epochs."""
    while True:
        for number, batch in enumerate(epoch(state["epoch"])):
            if number >= state["batch"]:
                yield batch
        state["epoch"] += 1
        state["batch"] = 0


def _resume(module: nn.Module, optimiser: torch.optim.Optimizer, folder: Path) -> dict[str, Any]:
    if not (folder / STATE).is_file():
        return {"step": 0, "epoch": 0, "batch": 0}
    found = torch.load(folder / STATE, map_location="cpu", weights_only=True)
    named = dict(module.named_parameters())
    with torch.no_grad():
        for name, value in found["weights"].items():
            named[name].copy_(value)
    optimiser.load_state_dict(found["optimiser"])
    place: dict[str, Any] = found["place"]
    return place


def _save(
    module: nn.Module, optimiser: torch.optim.Optimizer, state: dict[str, Any], folder: Path
) -> None:
    """Save the state atomically."""
    trained = {n: w.detach().cpu() for n, w in module.named_parameters() if w.requires_grad}
    whole = {"weights": trained, "optimiser": optimiser.state_dict(), "place": dict(state)}
    partial = folder / f"{STATE}.partial"
    torch.save(whole, partial)
    os.replace(partial, folder / STATE)
