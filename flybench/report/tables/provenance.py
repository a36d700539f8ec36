"""Where a run came from: its settings at a glance, everything it recorded, how to repeat it."""

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
    """The settings that all runs have in common: of a single run, all."""
    known = [settings(run) for run in runs]
    alike = {name: value for name, value in known[0].items() if name not in _differing(known)}
    rows = [[TableCell(name), TableCell(value, kind="message")] for name, value in alike.items()]
    columns = [Column("setting", numeric=False), Column("value", numeric=False)]
    what = "Settings" if len(runs) == 1 else "What all runs share"
    return Table(what, columns, rows)


def own(runs: Sequence[Run]) -> Table | None:
    """The settings in which runs differ, one row a run; None for a single run."""
    known = [settings(run) for run in runs]
    names = _differing(known)
    columns = [Column(label, numeric=False) for label in ("run", *names)]
    rows = [
        [TableCell(run.name), *(TableCell(each.get(name, NONE), kind="message") for name in names)]
        for run, each in zip(runs, known, strict=True)
    ]
    return Table("In what the runs differ", columns, rows) if names else None


def commands(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Each command that made any of the runs, with the names of these."""
    found: dict[str, list[str]] = {}
    for run in runs:
        found.setdefault(command(run), []).append(run.name)
    return found


def files(runs: Sequence[Run]) -> dict[str, str]:
    """The files that say how runs were made, by a title; what runs share is there once."""
    found: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for name in FILES:
            if content := run.text(name):
                found.setdefault((name, content), []).append(run.name)
    return {f"{name} of {', '.join(of)}": content for (name, content), of in found.items()}


def settings(run: Run) -> dict[str, str]:
    """The settings that a reader asks for first."""
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
        "margin of retention": percent(run.margin),
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
    """The shell lines that repeat the run; put together from the names if none was recorded."""
    argv = [str(word) for word in _last(run).get("argv") or []]
    if argv:
        line = shlex.join([PurePath(argv[0]).name, *argv[1:]])
    else:
        names = {key: run.provenance.get(key) for key in ("model", "method", "task")}
        words = [f"{key}={value}" for key, value in names.items() if value]
        line = shlex.join(["flybench", "run", *words])
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
    """Nested settings in one line, as ``name=value`` words."""
    if not isinstance(value, Mapping):
        return "" if value is None else str(value)
    words = []
    for key, item in value.items():
        if isinstance(item, Mapping):
            words.append(f"{key}({_flat(item)})")
        elif item not in (None, ""):
            words.append(f"{key}={item}")
    return ", ".join(words)
