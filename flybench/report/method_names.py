"""Names of arms (method results): the method, plus the settings that distinguish it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from flybench.config import BASELINES
from flybench.core.files import flattened
from flybench.metrics.method_summary import MethodSummary
from flybench.records.folder import RunFolder

ArmKey = tuple[int, str]  # index of the run's folder, method
SYMBOLS = {"theta": "θ", "window": "W", "k": "K"}
# Free text about a run, which is not a setting.
FREE_TEXT = ("name", "description")


def arm_names(
    folders: Sequence[RunFolder], tables: Sequence[list[MethodSummary]]
) -> dict[ArmKey, str]:
    """Return a name for every row, by the index of its folder and its method.

    If several runs of one task and model share a method, the settings in which they differ are
    appended, as ``fly θ=0.3``. If these are equal too, the folder's key is appended, as
    ``fly (5ea381e9)``.
    """
    sharing: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, rows in enumerate(tables):
        for row in rows:
            sharing[row.task, row.model, row.method].append(index)
    keys = _folder_keys([folder.path.name for folder in folders])
    names: dict[ArmKey, str] = {}
    for (_, _, method), indices in sharing.items():
        settings = {index: settings_of(folders[index].provenance(), method) for index in indices}
        short = {index: f"{method}{_differing(settings, index)}" for index in indices}
        counts = Counter(short.values())
        for index, name in short.items():
            folder = f" ({keys[index]})" if counts[name] > 1 else ""
            names[index, method] = f"{name}{folder}"
    return names


def settings_of(provenance: Mapping[str, Any], method: str) -> dict[str, Any]:
    """Return the settings that affect a method's tokens and times, by dotted name."""
    own = {} if method in BASELINES else provenance.get("method_config") or {}
    sampling = provenance.get("sampling") or {}
    shared = {"temperature": sampling.get("temperature")}
    shared |= {name: provenance.get(name) for name in ("seed", "device", "engine")}
    flat = {p: v for p, v in flattened(own) if p.rpartition(".")[2] not in FREE_TEXT}
    return {**flat, **{name: value for name, value in shared.items() if value}}


def _folder_keys(names: Sequence[str]) -> list[str]:
    """Run keys after the last dash of the folder names; the full names if keys are ambiguous."""
    keys = [name.rpartition("-")[2] for name in names]
    return keys if len(set(keys)) == len(names) else list(names)


def _differing(settings: Mapping[int, Mapping[str, Any]], index: int) -> str:
    """One run's values of the settings in which the runs differ, as `` θ=0.3 K=4``."""
    names = dict.fromkeys(name for each in settings.values() for name in each)
    differing = [
        name for name in names if len({str(one.get(name)) for one in settings.values()}) > 1
    ]
    own = ((name.split(".")[-1], settings[index].get(name)) for name in differing)
    return "".join(f" {SYMBOLS.get(name, name)}={value}" for name, value in own)
