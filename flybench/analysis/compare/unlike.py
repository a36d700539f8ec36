"""Which differences of two runs make which comparison meaningless, and how that is said.

| they differ in | then |
|---|---|
| task, data, cap, sampling, target's weights, prompts | nothing is compared: refused |
| metric or judge | accuracy is not comparable |
| card, processor, device or dtype | times are not comparable; `--across-machines` lifts that |

Method, draft model, engine, seed and flybench's commit may differ: they are what is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flybench.analysis.compare.sides import Side
from flybench.core.errors import FlybenchError

MEASURE = ("metric",)
# Of a target, what makes other weights of the same files.
WEIGHTS = ("quantize", "skip_layers")
SAMPLING = ("temperature", "top_k", "top_p")


def check_alike(a: Side, b: Side) -> None:
    """Refuse a comparison of which no figure would mean anything.

    Raises:
        FlybenchError: the runs are one, or differ in what was asked, of whom, or how it answered.
    """
    if a.path.resolve() == b.path.resolve():
        raise FlybenchError(f"A and B are the same folder, {a.path}: give two runs.")
    for what, read in ASKED.items():
        ours, theirs = read(a), read(b)
        if ours != theirs and None not in (ours, theirs):  # older runs do not say
            raise FlybenchError(
                f"A and B cannot be compared, since their {what} differ"
                f"{_values(ours, theirs)}: choose two runs that differ in method, settings or "
                "commit alone."
            )
    shared = shared_samples(a, b)
    if not shared:
        raise FlybenchError(
            f"A and B share no finished sample ({_range(a)}; {_range(b)}): run both with the same "
            "offset= and limit=."
        )
    other = [sample for sample in shared if a.prompts[sample] != b.prompts[sample]]
    if other:
        raise FlybenchError(
            f"A and B were asked {len(other)} of {len(shared)} shared samples in other words, "
            f"first {other[0]!r}: use the same data, chat template, shots and cap in both."
        )


def accuracy_blocker(a: Side, b: Side) -> str | None:
    """Why the accuracies cannot be held beside each other; None if they can."""
    for side in (a, b):
        if not side.scored:
            return f"{side.name} has no scores; `flybench score {side.path}` makes them"
    task_a, task_b = (_part(side.provenance, "task_config", MEASURE) for side in (a, b))
    if task_a != task_b:
        return f"they count by different metrics{_values(task_a, task_b)}"
    judges = [side.provenance.get("judge") for side in (a, b)]
    if judges[0] != judges[1]:
        return f"different judges graded them{_values(*judges)}"
    return None


def speed_blocker(a: Side, b: Side) -> str | None:
    """Why the times cannot be held beside each other; None if they can."""
    for what, read in MACHINE.items():
        ours, theirs = read(a), read(b)
        if ours != theirs:
            return f"their {what} differ{_values(ours, theirs)}"
    return None


def shared_samples(a: Side, b: Side) -> list[str]:
    """Samples that both methods finished."""
    return sorted(set(a.samples.index) & set(b.samples.index))


def _part(tree: dict[str, Any], group: str, names: tuple[str, ...]) -> list[Any]:
    known = tree.get(group) or {}
    return [known.get(name) for name in names]


def _target(side: Side) -> Any:
    target = (side.provenance.get("models") or {}).get("target") or {}
    # By content, since a folder may be called anything.
    return [sorted((target.get("files") or {}).values()), *(target.get(name) for name in WEIGHTS)]


def _processors(side: Side) -> list[str]:
    """Every processor and card that worked on the run."""
    return sorted({" + ".join(_machine(each)) for each in side.provenance.get("invocations") or []})


def _machine(invocation: dict[str, Any]) -> Iterator[str]:
    known = invocation.get("environment") or {}
    yield f"{known.get('cpu')}, {known.get('cores')} cores"
    yield from (str(card.get("name")) for card in known.get("gpus") or [])


def _dtype(side: Side) -> Any:
    """What was asked for: the target's own type, or else the engine's."""
    own = ((side.provenance.get("models") or {}).get("target") or {}).get("dtype", "auto")
    return own if own != "auto" else (side.config.get("engine") or {}).get("dtype", "auto")


def _values(ours: Any, theirs: Any) -> str:
    """The two values in brackets, where they are short enough to read."""
    text = f" (A: {_plain(ours)}; B: {_plain(theirs)})"
    return text if len(text) < 200 else ""


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _range(side: Side) -> str:
    names = side.samples.index
    return f"{side.name} has {len(names)}, {names[0]!r} to {names[-1]!r}"


ASKED: dict[str, Callable[[Side], Any]] = {
    "tasks": lambda side: side.provenance["task"],
    "data": lambda side: side.provenance.get("data_sha256"),
    "caps on an answer (task.max_new_tokens)": lambda side: _part(
        side.provenance, "task_config", ("max_new_tokens",)
    ),
    "samplings": lambda side: _part(side.provenance, "sampling", SAMPLING),
    "target models' weights": _target,
}
MACHINE: dict[str, Callable[[Side], Any]] = {
    "devices": lambda side: side.provenance["device"],
    "machines": _processors,
    "number types": _dtype,
}
