"""Where a pair runs and on which engine, decided before its weights are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import torch

from flybench.config import EngineConfig, ModelRef
from flybench.core import FlybenchError

DEVICES = ("cpu", "cuda", "mps", "xpu")


class Placeable(Protocol):
    """A model whose configuration is known; see `ModelInfo`."""

    @property
    def ref(self) -> ModelRef: ...

    @property
    def graph_refusal(self) -> str | None: ...


def choose_engine(
    engine: EngineConfig, infos: Sequence[Placeable], device: torch.device
) -> tuple[EngineConfig, str | None]:
    """The engine with its kind decided, and a sentence where `auto` could not have its way.

    A pair runs on one engine, because a slower draft would be an artefact of the harness.

    Raises:
        FlybenchError: the graph engine is asked for and cannot run a model.
    """
    if engine.kind == "eager" or (engine.kind == "auto" and device.type != "cuda"):
        return replace(engine, kind="eager"), None
    for info in infos:
        why = info.graph_refusal
        if info.ref.device == "balanced":
            why = "this model is spread over the cards, which then take turns (device: balanced)"
        if why is None:
            continue
        sentence = f"The graph engine cannot run {info.ref.path}: {why}"
        if engine.kind == "graph":
            raise FlybenchError(f"{sentence}; use engine=eager.")
        return replace(engine, kind="eager"), f"{sentence}; engine=eager runs it."
    return replace(engine, kind="graph"), None


def resolve_device(name: str) -> torch.device:
    """`auto` is the first CUDA card, else the CPU.

    Raises:
        FlybenchError: the device does not exist here.
    """
    if name == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if device.type not in DEVICES:
            raise RuntimeError(f"{device.type} is not one of {', '.join(DEVICES)}")
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise FlybenchError(
            f"The device {name!r} cannot be used here: use auto, cpu or cuda:N, and see "
            "`flybench doctor`."
        ) from error
    return device
