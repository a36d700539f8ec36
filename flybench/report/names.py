"""What to call an arm: its method, and what tells it from the others of its task and model."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from flybench.config import BASELINES
from flybench.core.files import flattened
from flybench.metrics.rows import MethodSummary
from flybench.records.folder import RunFolder

Place = tuple[int, str]
SYMBOLS = {"theta": "θ", "window": "W", "k": "K"}
# Texts for people, which set nothing.
WORDS = ("name", "description")


def arm_names(
    folders: Sequence[RunFolder], tables: Sequence[list[MethodSummary]]
) -> dict[Place, str]:
    """A name for every row, by the number of its folder and its method.

    Where several runs of one task and model share a method, the settings in which they differ
    follow its name, and where these are alike too, the folder's key.
    """
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, rows in enumerate(tables):
        for row in rows:
            alike[row.task, row.model, row.method].append(number)
    tails = _tails([folder.path.name for folder in folders])
    names: dict[Place, str] = {}
    for (_, _, method), numbers in alike.items():
        settings = {number: settings_of(folders[number].provenance(), method) for number in numbers}
        found = {number: f"{method}{_own(settings, number)}" for number in numbers}
        counts = Counter(found.values())
        for number, name in found.items():
            folder = f" ({tails[number]})" if counts[name] > 1 else ""
            names[number, method] = f"{name}{folder}"
    return names


def settings_of(provenance: Mapping[str, Any], method: str) -> dict[str, Any]:
    """What decides the tokens and times of one of a run's methods, by dotted name."""
    own = {} if method in BASELINES else provenance.get("method_config") or {}
    sampling = provenance.get("sampling") or {}
    known = {"temperature": sampling.get("temperature")}
    known |= {name: provenance.get(name) for name in ("seed", "device", "engine")}
    flat = {p: v for p, v in flattened(own) if p.rpartition(".")[2] not in WORDS}
    return {**flat, **{name: value for name, value in known.items() if value}}


def _tails(names: Sequence[str]) -> list[str]:
    """What follows the last dash, a run's key; the whole names if that does not tell them apart."""
    tails = [name.rpartition("-")[2] for name in names]
    return tails if len(set(tails)) == len(names) else list(names)


def _own(settings: Mapping[int, Mapping[str, Any]], number: int) -> str:
    """The settings of one run in which the others differ, as words."""
    names = dict.fromkeys(name for each in settings.values() for name in each)
    differing = [
        name for name in names if len({str(one.get(name)) for one in settings.values()}) > 1
    ]
    own = ((name.split(".")[-1], settings[number].get(name)) for name in differing)
    return "".join(f" {SYMBOLS.get(name, name)}={value}" for name, value in own)
