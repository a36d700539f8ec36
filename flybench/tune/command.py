"""`flybench tune model=… task=… [limit=N] [tune.NAME=VALUE,…] [latency=FILE]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from flybench.arguments import meant, own_settings
from flybench.checks import build
from flybench.compose import cells, parse_request
from flybench.config import RecordConfig, RunConfig, digest
from flybench.core import FlybenchError
from flybench.engine.placement import use_threads
from flybench.latency.command import measured
from flybench.latency.projection import allowed_costs, newest
from flybench.plan import Plan, make_plan
from flybench.provenance import machinery_facts
from flybench.records import RunFolder
from flybench.tune.cells import Cells
from flybench.tune.confirm import confirm
from flybench.tune.page import page
from flybench.tune.search import recordings, search
from flybench.tune.settings import TuneSettings
from flybench.tune.verdict import verdict
from flybench.tune.write import CONF, confirmed, projected, write_evidence, write_method

FEWEST = 8  # samples, with which each half has an interval
RESOLVED, FAILED, OPEN = 0, 1, 3


def tune_command(arguments: Sequence[str]) -> int:
    """Exit code 0: a setting is recommended and no loose one may be better; 3: that is not
    resolved; 1: samples failed."""
    given, rest = own_settings(arguments, ("tune",), ("latency",))
    settings = build(TuneSettings, _lists(given.get("tune", {})), "tune")
    config = _composed(rest)
    methods = settings.grid(config.method)
    record, rest_config, folder = _prepared(config, settings)
    plan = make_plan(record)
    latency = _costs(config, plan, settings, given.get("latency"))
    runs = Cells(["flybench", "tune", *arguments])

    _say(f"1/3 Recording {record.limit} samples, from which every setting is replayed.")
    recorded = runs.run(
        [replace(record, method=each) for each in recordings(settings, config.method)]
    )
    found = search(recorded, methods, latency, settings.confirm)
    _say(f"2/3 Replayed {len(methods)} settings; the front by projection:\n")
    print(projected(found.table))

    samples = rest_config.limit or 0
    _say(f"\n3/3 Confirming {1 + len(found.loose)} settings on up to {samples} other samples.")
    findings = confirm(runs, rest_config, found.exact, found.loose, samples, settings)
    decided = verdict(findings, config.retention_margin)
    about = f"by flybench tune for {config.model.name} on {config.task.name}"
    write_method(folder, decided, about)
    text = page(folder, config, arguments, found, findings, decided, str(latency))
    write_evidence(folder, found, findings, text)
    print("\n".join([confirmed(found, findings), "", *decided.sentences, "", str(folder.path)]))
    if decided.method is not None:
        _say(f"Use it: flybench run --config-dir {folder.path}/conf method=tuned …  ({CONF})")
    if runs.failed:
        return FAILED
    return RESOLVED if decided.resolved else OPEN


def _composed(arguments: Sequence[str]) -> RunConfig:
    found = cells(parse_request(arguments))
    if len(found) > 1:
        raise FlybenchError(
            f"flybench tune takes one model and one task, and these are {len(found)} runs: leave "
            "out -m, and list settings as tune.NAME=VALUE,…."
        )
    (config,) = found
    if not config.sampling.rule().greedy:
        raise FlybenchError(
            f"sampling.temperature={config.sampling.temperature:g} cannot be tuned, since only "
            "greedy runs are replayed: use sampling=greedy."
        )
    if config.engine.tp > 1:
        raise FlybenchError(
            f"engine.tp={config.engine.tp} is not allowed here: tune on one device, or compare the "
            "settings of interest with flybench run -m."
        )
    return config


def _prepared(config: RunConfig, settings: TuneSettings) -> tuple[RunConfig, RunConfig, RunFolder]:
    """The two halves of the samples, each in an order that mixes categories, and the folder."""
    longest = settings.drafters(config.method)[0]
    whole = replace(config, method=longest, shuffle=True)
    count = len(make_plan(whole).prompts)
    if count < FEWEST:
        raise FlybenchError(
            f"{count} samples are too few to choose by one half and report on the other: use at "
            f"least {FEWEST}, better hundreds."
        )
    decisive = [whole.identity(), asdict(settings), config.limit, config.offset]
    name = f"tune-{config.model.name}-{config.task.name}-{digest(decisive)[:8]}"
    folder = RunFolder(Path(config.out).expanduser() / name)
    half = count // 2
    first = replace(
        whole, limit=half, out=str(folder.path / "recorded"), record=RecordConfig(traces=True)
    )
    out = str(folder.path / "confirmed")
    second = replace(whole, limit=count - half, offset=config.offset + half, out=out)
    return first, second, folder


def _costs(config: RunConfig, plan: Plan, settings: TuneSettings, given: str | None) -> Path:
    """What steps cost: the file that was given, the newest one of this pair here, or a new one."""
    known = machinery_facts(plan)
    if given is not None:
        allowed_costs(plan.folder, known, Path(given))
        return Path(given)
    found = newest(Path(config.out).expanduser(), known, config.engine.dtype)
    if found is None:
        _say("0/3 Measuring what steps cost here, since no `flybench latency` has.")
        use_threads(plan.engine)
        found = measured(replace(config, method=settings.drafters(config.method)[0]))
    assert found is not None, "there is one rank"
    return found


def _lists(given: dict[str, Any]) -> dict[str, Any]:
    """One value of a setting that takes several, or several with commas, as a list."""
    several = {entry.name for entry in fields(TuneSettings) if entry.type.startswith("tuple")}
    return {
        name: _split(value) if name in several and not isinstance(value, list) else value
        for name, value in given.items()
    }


def _split(value: Any) -> list[Any]:
    return [meant(part) for part in value.split(",")] if isinstance(value, str) else [value]


def _say(text: str) -> None:
    print(text, file=sys.stderr)
