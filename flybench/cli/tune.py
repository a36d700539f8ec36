"""`flybench tune`: the setting that is worth its risk, by replay and then by real runs."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from flybench.analysis.tune.settings import TuneSettings
from flybench.cli.parser import Parser
from flybench.cli.settings import ANY, JUDGE, MODEL, OUT, TASK
from flybench.config.checks import build
from flybench.config.compose import add_run_options, make_request
from flybench.config.overrides import parse_value, split_settings


def declare(parser: Parser) -> None:
    """Add the options and settings of `flybench tune`."""
    add_run_options(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be recorded, and load nothing"
    )
    parser.add_settings(
        [
            *MODEL,
            ("method=NAME", "a method whose drafts are tuned, such as fly or lookup"),
            *TASK,
            ("tune.rule=…", "rules to try: official, vllm, paper"),
            ("tune.theta=X,…", "gates to try; tune.window=N,… windows, tune.k=N,… draft lengths"),
            ("tune.lookup=…", "false, true, or both: whether lookup drafts for the draft model"),
            ("tune.confirm=N", "how many loose settings real runs confirm; 3 without it"),
            ("tune.looks=N", "how often the confirmation may stop early; 3 without it"),
            ("latency=FILE", "costs of `flybench latency`; measured here without any"),
            *JUDGE,
            *OUT,
            *ANY,
        ]
    )
    parser.add_exit_codes(
        [
            ("0", "a setting is recommended, and no loose one may be better"),
            ("1", "samples failed"),
            ("2", "refused"),
            ("3", "not resolved: the lossless setting is recommended"),
        ]
    )
    parser.add_examples(
        "flybench tune model=llama8b task=gsm8k limit=400 --dry-run",
        "flybench tune model=llama8b task=gsm8k limit=400 tune.theta=0.2,0.3 tune.k=10,15",
    )


def run(asked: argparse.Namespace) -> int:
    """Check the request, then record, replay and confirm."""
    own, overrides = split_settings(asked.settings, ("tune",), ("latency",))
    settings: TuneSettings = build(TuneSettings, _lists(own["tune"]), "tune")
    request = make_request(overrides, asked.multirun, asked.config_dir)
    latency = Path(own["latency"]) if "latency" in own else None

    from flybench.analysis.tune.prepare import Prepared
    from flybench.analysis.tune.tune import show_plan, tune

    ready = Prepared.of(settings, request, latency)
    return show_plan(ready) if asked.dry_run else tune(ready, asked.words)


def _lists(given: dict[str, Any]) -> dict[str, Any]:
    """One value of a setting that takes several, or several with commas, as a list."""
    several = {entry.name for entry in fields(TuneSettings) if entry.type.startswith("tuple")}
    return {
        name: _split(value) if name in several and not isinstance(value, list) else value
        for name, value in given.items()
    }


def _split(value: Any) -> list[Any]:
    return [parse_value(part) for part in value.split(",")] if isinstance(value, str) else [value]
