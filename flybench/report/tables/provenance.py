"""Provenance of runs: main settings, recorded files, and the commands to repeat them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from flybench.report.run import Run
from flybench.report.tables.table import Column, Table, TableCell
from flybench.text import NONE, number, percent

FILES = ("config.yaml", "provenance.json", "prompt.txt")


def shared(runs: Sequence[Run]) -> Table:
    """Return the settings that all runs have in common."""
    known = [settings(run) for run in runs]
    common = {name: value for name, value in known[0].items() if name not in _differing(known)}
    rows = [[TableCell(name), TableCell(value, kind="message")] for name, value in common.items()]
    columns = [Column("setting", numeric=False), Column("value", numeric=False)]
    caption = "Settings" if len(runs) == 1 else "Settings shared by all runs"
    return Table(caption, columns, rows)


def own(runs: Sequence[Run]) -> Table | None:
    """Return the settings in which runs differ, one row per run; None if there are none."""
    known = [settings(run) for run in runs]
    names = _differing(known)
    columns = [Column(label, numeric=False) for label in ("run", *names)]
    rows = [
        [TableCell(run.name), *(TableCell(each.get(name, NONE), kind="message") for name in names)]
        for run, each in zip(runs, known, strict=True)
    ]
    return Table("Settings in which the runs differ", columns, rows) if names else None


def commands(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Return each command with the names of the runs that it produced."""
    by_command: dict[str, list[str]] = {}
    for run in runs:
        by_command.setdefault(command(run), []).append(run.name)
    return by_command


def files(runs: Sequence[Run]) -> dict[str, str]:
    """Return the provenance files by title, such as ``config.yaml of RUN, RUN``.

    Identical files of several runs are listed once.
    """
    owners: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for name in FILES:
            if content := run.text(name):
                owners.setdefault((name, content), []).append(run.name)
    return {f"{name} of {', '.join(names)}": content for (name, content), names in owners.items()}


def settings(run: Run) -> dict[str, str]:
    """Return the main settings of a run, by their label."""
    known = run.provenance
    last = _last(run)
    machine = last.get("environment") or {}
    memory = machine.get("memory_bytes")
    rows = {
        "model": known["model"],
        **{f"{name} model": _model(model) for name, model in (known.get("models") or {}).items()},
        "method": _flat(known.get("method_config")) or known.get("method"),
        "task": _flat(known.get("task_config")) or known["task"],
        "sampling": _flat(known.get("sampling")),
        "judge": _flat(known.get("judge")),
        "retention margin": percent(run.margin),
        "device": known["device"],
        "engine": f"{known['engine']}, batch size 1",
        "machine": _flat({key: machine.get(key) for key in ("cpu", "cores", "threads")}),
        "memory": f"{number(memory, 1, 2.0**-30)} GiB" if memory else None,
        "software": _flat({"python": machine.get("python")} | (machine.get("packages") or {})),
        "code": _commit(last.get("git")),
        "data SHA-256": known.get("data_sha256"),
        "run key": known.get("key"),
        "sandbox": _flat(known.get("sandbox")),
        "started": ", ".join(str(call.get("time", "?")) for call in _calls(run)),
    }
    return {name: str(value or NONE) for name, value in rows.items()}


def command(run: Run) -> str:
    """Return the shell lines that repeat the run; without a recorded command, from its names."""
    argv = [str(word) for word in _last(run).get("argv") or []]
    if argv:
        line = shlex.join([PurePath(argv[0]).name, *argv[1:]])
    else:
        names = {key: run.provenance.get(key) for key in ("model", "method", "task")}
        pairs = [f"{key}={value}" for key, value in names.items() if value]
        line = shlex.join(["flybench", "run", *pairs])
    git = _last(run).get("git") or {}
    checkout = f"git checkout {shlex.quote(str(git['commit']))}\n" if git.get("commit") else ""
    return checkout + line


def _differing(known: Sequence[Mapping[str, str]]) -> list[str]:
    names = dict.fromkeys(name for each in known for name in each)
    return [name for name in names if len({each.get(name, NONE) for each in known}) > 1]


def _calls(run: Run) -> list[dict[str, Any]]:
    return list(run.provenance.get("invocations") or [])


def _last(run: Run) -> dict[str, Any]:
    calls = _calls(run)
    return calls[-1] if calls else {}


def _commit(git: Mapping[str, Any] | None) -> str | None:
    if not git:
        return None
    return f"{git.get('commit')}{' with uncommitted changes' if git.get('dirty') else ''}"


def _model(model: Mapping[str, Any] | None) -> str | None:
    if not model:
        return None
    return _flat({key: value for key, value in model.items() if key != "files"})


def _flat(value: Any) -> str:
    """Format nested settings on one line, as ``name=value, group(name=value)``."""
    if not isinstance(value, Mapping):
        return "" if value is None else str(value)
    items = []
    for key, item in value.items():
        if isinstance(item, Mapping):
            items.append(f"{key}({_flat(item)})")
        elif item not in (None, ""):
            items.append(f"{key}={item}")
    return ", ".join(items)
