"""Device and engine of a pair, chosen before its weights are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import torch

from flybench.config import EngineConfig, ModelRef
from flybench.core.errors import FlybenchError
from flybench.distributed import local_rank, world_size
from flybench.engine.drafters.shared_embeddings import DraftLayers
from flybench.measure.environment import computes_natively, physical_cores

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
DEVICES = ("cpu", "cuda", "mps", "xpu")


class Described(Protocol):
    """A description of a model before it is loaded, such as `ModelInfo`."""

    @property
    def ref(self) -> ModelRef: ...

    @property
    def stored_dtype(self) -> torch.dtype: ...

    @property
    def graph_unsupported_reason(self) -> str | None: ...

    @property
    def windowed(self) -> bool: ...

    @property
    def draft_ids(self) -> torch.Tensor | None: ...

    @property
    def key_heads(self) -> int: ...

    @property
    def quantisation(self) -> str | None: ...

    @property
    def draft_layers(self) -> DraftLayers | None: ...


def choose_engine(
    engine: EngineConfig, infos: Sequence[Described], device: torch.device, tree: bool = False
) -> tuple[EngineConfig, str | None]:
    """Return the engine with its kind decided, and a sentence if `auto` prefers another.

    Both models of a pair run on one engine: a slower draft would be an artefact of the harness. To
    draft a `tree`, the graph engine needs a target without sliding windows.

    Raises:
        FlybenchError: the graph engine is asked for and cannot run a model, or the ranks do not
            fit `engine.tp` or the target.
    """
    if engine.tp > 1 or world_size() > 1:
        check_ranks(engine, *infos)
        engine = replace(engine, kind="graph")
    if engine.kind == "eager" or (engine.kind == "auto" and device.type != "cuda"):
        return replace(engine, kind="eager"), None
    for info in infos:
        why = info.graph_unsupported_reason
        if placed(info, engine) is None:
            why = "this model is spread over the GPUs, which then take turns (device: balanced)"
        if tree and info is infos[0] and info.windowed:
            why = "its layers have sliding windows, for which the graph engine supports only chains"
        if why is None:
            continue
        sentence = f"The graph engine cannot run {info.ref.path}: {why}"
        if engine.kind == "graph":
            raise FlybenchError(f"{sentence}; use engine=eager.")
        return replace(engine, kind="eager"), f"{sentence}; engine=eager runs it."
    return replace(engine, kind="graph"), None


def engine_label(engine: EngineConfig, infos: Sequence[Described]) -> str:
    """Return the name of the engine in reports, with the placement of the models on GPUs."""
    label = engine.kind
    if engine.tp > 1:
        label += f", tensor parallel over {engine.tp} cards"
    spread = [info.ref.path for info in infos if placed(info, engine) is None]
    if spread:
        label += f", {' and '.join(spread)} in layers over the cards, which take turns (device_map)"
    return label


def check_ranks(engine: EngineConfig, target: Described, draft: Described | None = None) -> None:
    """Check the number of processes and the models for tensor parallelism.

    Raises:
        FlybenchError: it cannot.
    """
    if engine.tp == 1:
        raise FlybenchError(
            f"torchrun started {world_size()} processes, but engine.tp is 1: set "
            f"engine.tp={world_size()}, or run a single process."
        )
    if world_size() != engine.tp:
        raise FlybenchError(
            f"engine.tp={engine.tp} needs that many processes, but there are {world_size()}: run "
            f"torchrun --nproc-per-node={engine.tp} -m flybench … engine.tp={engine.tp}."
        )
    if engine.kind == "eager":
        raise FlybenchError(f"engine=eager with engine.tp={engine.tp} is not allowed: use graph.")
    if target.quantisation is not None:
        raise FlybenchError(
            f"engine.tp={engine.tp} with {target.quantisation} weights ({target.ref.path}) is not "
            "allowed: use a target that is not quantised, or run this one in a single process."
        )
    if target.key_heads % engine.tp:
        raise FlybenchError(
            f"engine.tp={engine.tp} does not divide the {target.key_heads} key/value heads of "
            f"{target.ref.path}: choose a divisor of {target.key_heads}."
        )
    if draft is not None and draft.draft_layers is not None:
        raise FlybenchError(
            f"engine.tp={engine.tp} with model.draft.path={draft.ref.path} is not allowed, because "
            "no rank has the complete embeddings that it shares: set model.draft to a complete "
            "model."
        )


def resolve_device(name: str) -> torch.device:
    """Return a device; `auto` is this rank's CUDA GPU, the first one for a single process, else the
    CPU.

    Raises:
        FlybenchError: the device does not exist here.
    """
    if name == "auto":
        name = f"cuda:{local_rank()}" if torch.cuda.is_available() else "cpu"
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


def resolve_dtype(info: Described, engine: EngineConfig) -> torch.dtype:
    """Return the dtype of a model's own setting, else of the engine's; `auto` is fp32 on a CPU,
    else the checkpoint's.

    Raises:
        FlybenchError: the CPU has no instructions for the dtype, which would be slower than fp32.
    """
    chosen = info.ref.dtype if info.ref.dtype != "auto" else engine.dtype
    place = placed(info, engine)
    on_cpu = place is not None and place.type == "cpu"
    if chosen == "auto":
        return torch.float32 if on_cpu else info.stored_dtype
    if on_cpu and not computes_natively(DTYPES[chosen]):
        raise FlybenchError(
            f"engine.dtype={chosen} for {info.ref.path} is not allowed, because this CPU lacks "
            "native instructions for it: use engine.dtype=fp32."
        )
    return DTYPES[chosen]


def placed(info: Described, engine: EngineConfig) -> torch.device | None:
    """Return a model's device; None if one process spreads it over all GPUs (`balanced`)."""
    name = info.ref.device if info.ref.device != "auto" else engine.device
    if name == "balanced" and engine.tp > 1:
        return resolve_device("auto")
    return None if name == "balanced" else resolve_device(name)


def use_threads(engine: EngineConfig) -> None:
    """Set the number of CPU threads to `engine.threads`."""
    torch.set_num_threads(engine.threads or physical_cores())
