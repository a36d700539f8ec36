"""Provenance of a run, written into its folder before the first token.

`open_folder` writes config.yaml, provenance.json and prompt.txt (the first prompt as the model sees
it), and repairs files left by a killed run.
"""

from __future__ import annotations

import functools
import logging
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import yaml

import flybench
from flybench.config import RunConfig, to_tree
from flybench.config.declared import declarations
from flybench.config.groups import conf_dir
from flybench.core.errors import FlybenchError
from flybench.engine.loading.description import ModelInfo
from flybench.engine.loading.placement import engine_label
from flybench.measure.environment import busy_share, device_name, environment, redacted
from flybench.records.folder import RunFolder
from flybench.run.plan import Plan
from flybench.run.setup import ModelSetup
from flybench.sandbox import execute as sandbox

log = logging.getLogger(__name__)

# Above this CPU utilisation by other programs, timings are not reliable.
BUSY = 0.25


def open_folder(plan: Plan, argv: Sequence[str], decodes: bool = True) -> None:
    """Prepare the run's folder, which may hold records of an earlier invocation.

    Warnings of earlier invocations are kept; an invocation that `decodes` nothing adds none about
    timings.
    """
    plan.folder.repair()
    write_config(plan.folder, plan.config)
    plan.folder.write("prompt.txt", plan.chat.render(plan.prompts[0].messages))
    warnings = plan.cautions + (busy_warnings(plan.device) if decodes else [])
    for warning in warnings:
        log.warning("%s", warning)
    before = plan.folder.read_json("provenance.json")
    kept = before.get("warnings", []) if isinstance(before, dict) else []
    every = list(dict.fromkeys([*kept, *warnings]))
    plan.folder.write_json("provenance.json", provenance(plan, argv) | {"warnings": every})


def code_hashes(config: RunConfig) -> dict[str, str]:
    """Return hashes of the code of drafter, rule and task, without comments and docstrings."""
    greedy = config.sampling.rule().greedy
    (drafter,), rule = config.method.draft.declared, config.method.verify.declaration(greedy)
    (task,) = declarations("tasks", config.task.kind)
    found = {"draft": drafter, "verify": rule, "task": task}
    return {name: each.code_sha256 for name, each in found.items()}


def check_code(plan: Plan) -> None:
    """Check that recorded samples were decoded by the same code of the drafter and the rule.

    Raises:
        FlybenchError: the code has changed.
    """
    match plan.folder.read_json("provenance.json"):
        case {"invocations": [*_, {"code": dict(before)}]}:
            pass
        case _:  # a new run, or one from before code was hashed
            return
    now = code_hashes(plan.config)
    changed = [name for name in ("draft", "verify") if before.get(name, now[name]) != now[name]]
    if changed and plan.folder.records():
        kinds = {"draft": plan.config.method.draft.kind, "verify": plan.config.method.verify.kind}
        names = " and ".join(f"method.{name}.kind={kinds[name]}" for name in changed)
        raise FlybenchError(
            f"the code of {names} has changed since {plan.folder.path} was decoded: add fresh=true "
            "to decode all samples again (older records are moved aside), or set out= to another "
            "folder."
        )


def write_config(folder: RunFolder, config: RunConfig) -> None:
    """Write config.yaml."""
    folder.write(
        "config.yaml", yaml.safe_dump(to_tree(replace(config, fresh=False)), sort_keys=False)
    )


def busy_warnings(device: torch.device) -> list[str]:
    """Return a warning if other work makes timings on the CPU unreliable."""
    busy = busy_share()
    if device.type != "cpu" or busy <= BUSY:
        return []
    return [
        f"Other programs used {busy:.0%} of this machine's CPU when the run started: timings are "
        "unreliable."
    ]


def provenance(plan: Plan, argv: Sequence[str]) -> dict[str, Any]:
    """Return the settings of the run, and its invocations with machine and commit."""
    config = plan.config
    known = plan.folder.read_json("provenance.json")
    before = known.get("invocations") if isinstance(known, dict) else None
    invocation = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "argv": redacted(argv),
        "git": _git_state(),
        "environment": environment(plan.device),
        "code": code_hashes(config),
    }
    return model_facts(plan) | {
        "method": config.method.name,
        "task": config.task.name,
        "samples": len(plan.prompts),
        "key": plan.key,
        "family": plan.family,
        "seed": config.seed,
        "retention_margin": config.retention_margin,
        "vocab_size": plan.vocab_size,
        "sampling": asdict(config.sampling),
        "method_config": to_tree(config.method),
        "task_config": asdict(config.task),
        "data_sha256": plan.task.data_sha256,
        "judged": plan.task.judged,
        "sandbox": sandbox.guards() if plan.task.runs_code else None,
        "invocations": [*(before if isinstance(before, list) else []), invocation],
    }


def model_facts(plan: ModelSetup) -> dict[str, Any]:
    """Return the models, their device, and their engine."""
    return {
        "model": plan.config.model.name,
        "device": device_name(plan.device),
        "engine": engine_label(plan.engine, plan.infos),
        "models": {
            "target": _model(plan.target),
            "draft": None if plan.draft is None else _model(plan.draft),
            "head": None if plan.head is None else {"files": plan.head.files},
        },
    }


def _model(info: ModelInfo) -> dict[str, Any]:
    return asdict(info.ref) | {
        "context_limit": info.context_limit,
        "quantisation": info.quantisation,
        "vocab_size": info.vocab_size,
        "eos_ids": sorted(info.eos_ids),
        "files": info.files,
    }


@functools.cache
def _git_state() -> dict[str, Any] | None:
    """Return the commit of flybench's code and settings; None outside a checkout.

    `dirty` is True if files have uncommitted changes.
    """
    source = Path(flybench.__file__)

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(source.parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", source.name)  # fails if installed in another checkout
        changed = git("status", "--porcelain", "--", str(source.parent), str(conf_dir()))
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(changed)}
    except (OSError, subprocess.CalledProcessError):
        return None
