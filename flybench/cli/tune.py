"""`flybench tune`: find the fastest setting that keeps accuracy, by replay and real runs."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from flybench.analysis.tune.search_space import TuneSettings
from flybench.cli.parser import Parser
from flybench.cli.settings_help import ANY, JUDGE, MODEL, OUT, TASK
from flybench.config.checks import build
from flybench.config.compose import add_run_options, make_request
from flybench.config.overrides import parse_value, split_settings


def declare(parser: Parser) -> None:
    """Add the options and settings of `flybench tune`."""
    add_run_options(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="show the plan without loading models"
    )
    parser.add_settings(
        [
            *MODEL,
            ("method=NAME", "the method to tune, such as fly or lookup"),
            *TASK,
            ("tune.rule=…", "rules to try: official, vllm, paper"),
            ("tune.theta=X,…", "thresholds to try; also tune.window=N,… and tune.k=N,…"),
            ("tune.lookup=…", "false, true, or both: speed up the draft model with prompt lookup"),
            ("tune.confirm=N", "number of loose settings to confirm with real runs (default: 3)"),
            ("tune.looks=N", "number of interim analyses (default: 3); each may stop a setting"),
            ("latency=FILE", "costs from `flybench latency` (default: measure them)"),
            *JUDGE,
            *OUT,
            *ANY,
        ]
    )
    parser.add_exit_codes(
        [
            ("0", "a setting is recommended, and no loose setting could still beat it"),
            ("1", "some samples failed"),
            ("2", "the command is invalid"),
            ("3", "not resolved: the lossless setting is recommended"),
        ]
    )
    parser.add_examples(
        "flybench tune model=llama8b task=gsm8k limit=400 --dry-run",
        "flybench tune model=llama8b task=gsm8k limit=400 tune.theta=0.2,0.3 tune.k=10,15",
    )


def run(args: argparse.Namespace) -> int:
    """Check the request, then record, replay and confirm."""
    own, overrides = split_settings(args.settings, ("tune",), ("latency",))
    settings: TuneSettings = build(TuneSettings, _lists(own["tune"]), "tune")
    request = make_request(overrides, args.multirun, args.config_dir)
    latency = Path(own["latency"]) if "latency" in own else None

    from flybench.analysis.tune.prepare import Prepared
    from flybench.analysis.tune.tune import show_plan, tune

    ready = Prepared.of(settings, request, latency)
    return show_plan(ready) if args.dry_run else tune(ready, args.words)


def _lists(given: dict[str, Any]) -> dict[str, Any]:
    """Convert values of settings with several values to lists."""
    several = {entry.name for entry in fields(TuneSettings) if entry.type.startswith("tuple")}
    return {
        name: _split(value) if name in several and not isinstance(value, list) else value
        for name, value in given.items()
    }


def _split(value: Any) -> list[Any]:
    return [parse_value(part) for part in value.split(",")] if isinstance(value, str) else [value]
