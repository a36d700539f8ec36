"""Checks that two runs can be compared.

| the runs differ in | effect |
|---|---|
| task, data, length limit, sampling, target weights, prompts | the comparison is rejected |
| metric or judge | accuracies are not compared |
| GPU, processor, device or dtype | times are compared only with `--across-machines` |

Method, draft model, engine, seed and flybench's commit may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flybench.analysis.compare.sides import ComparedRun
from flybench.core.errors import FlybenchError

MEASURE = ("metric",)
# Settings of a target that change the weights of the same files.
WEIGHTS = ("quantize", "skip_layers")
SAMPLING = ("temperature", "top_k", "top_p")


def check_alike(a: ComparedRun, b: ComparedRun) -> None:
    """Check that figures of two runs can be compared at all.

    Raises:
        FlybenchError: the paths are the same run, or the runs differ in questions, target or
            sampling, or share no finished sample.
    """
    if a.path.resolve() == b.path.resolve():
        raise FlybenchError(f"A and B are the same folder, {a.path}: pass two different runs.")
    for name, read in QUESTION.items():
        ours, theirs = read(a), read(b)
        if ours != theirs and None not in (ours, theirs):  # older runs lack it
            raise FlybenchError(
                f"A and B cannot be compared, because their {name} differ"
                f"{_values(ours, theirs)}: choose two runs that differ in method, settings or "
                "commit only."
            )
    shared = shared_samples(a, b)
    if not shared:
        raise FlybenchError(
            f"A and B have no finished samples in common ({_range(a)}; {_range(b)}): use the same "
            "offset= and limit=."
        )
    other = [sample for sample in shared if a.prompts[sample] != b.prompts[sample]]
    if other:
        raise FlybenchError(
            f"A and B have different prompts for {len(other)} of {len(shared)} shared samples, "
            f"e.g. {other[0]!r}: use the same data, chat template, few-shots and length limit."
        )


def accuracy_blocker(a: ComparedRun, b: ComparedRun) -> str | None:
    """Return the reason why accuracies cannot be compared; None if they can."""
    for side in (a, b):
        if not side.scored:
            return f"{side.name} has no scores; `flybench score {side.path}` adds them"
    task_a, task_b = (_part(side.provenance, "task_config", MEASURE) for side in (a, b))
    if task_a != task_b:
        return f"their metrics differ{_values(task_a, task_b)}"
    judges = [side.provenance.get("judge") for side in (a, b)]
    if judges[0] != judges[1]:
        return f"their judges differ{_values(*judges)}"
    return None


def speed_blocker(a: ComparedRun, b: ComparedRun) -> str | None:
    """Return the reason why times cannot be compared; None if they can."""
    for name, read in MACHINE.items():
        ours, theirs = read(a), read(b)
        if ours != theirs:
            return f"their {name} differ{_values(ours, theirs)}"
    return None


def shared_samples(a: ComparedRun, b: ComparedRun) -> list[str]:
    """Return the samples that both methods finished, sorted."""
    return sorted(set(a.samples.index) & set(b.samples.index))


def _part(tree: dict[str, Any], group: str, names: tuple[str, ...]) -> list[Any]:
    known = tree.get(group) or {}
    return [known.get(name) for name in names]


def _target(side: ComparedRun) -> Any:
    target = (side.provenance.get("models") or {}).get("target") or {}
    # By content, because a folder may have any name.
    return [sorted((target.get("files") or {}).values()), *(target.get(name) for name in WEIGHTS)]


def _processors(side: ComparedRun) -> list[str]:
    """Return every combination of processor and GPUs that the run used."""
    return sorted({" + ".join(_machine(each)) for each in side.provenance.get("invocations") or []})


def _machine(invocation: dict[str, Any]) -> Iterator[str]:
    known = invocation.get("environment") or {}
    yield f"{known.get('cpu')}, {known.get('cores')} cores"
    yield from (str(gpu.get("name")) for gpu in known.get("gpus") or [])


def _dtype(side: ComparedRun) -> Any:
    """Return the requested dtype: the target's own, or else the engine's."""
    own = ((side.provenance.get("models") or {}).get("target") or {}).get("dtype", "auto")
    return own if own != "auto" else (side.config.get("engine") or {}).get("dtype", "auto")


def _values(ours: Any, theirs: Any) -> str:
    """Return both values in brackets; empty if they are too long to read."""
    text = f" (A: {_plain(ours)}; B: {_plain(theirs)})"
    return text if len(text) < 200 else ""


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _range(side: ComparedRun) -> str:
    names = side.samples.index
    return f"{side.name} has {len(names)}, {names[0]!r} to {names[-1]!r}"


QUESTION: dict[str, Callable[[ComparedRun], Any]] = {
    "tasks": lambda side: side.provenance["task"],
    "data": lambda side: side.provenance.get("data_sha256"),
    "answer length limits (task.max_new_tokens)": lambda side: _part(
        side.provenance, "task_config", ("max_new_tokens",)
    ),
    "samplings": lambda side: _part(side.provenance, "sampling", SAMPLING),
    "target models' weights": _target,
}
MACHINE: dict[str, Callable[[ComparedRun], Any]] = {
    "devices": lambda side: side.provenance["device"],
    "machines": _processors,
    "dtypes": _dtype,
}
