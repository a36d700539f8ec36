"""Preparation of a tuning run: the grid, the two halves of the samples, and the output folder."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from flybench.analysis.latency.projection import allowed_costs, check_costs, newest
from flybench.analysis.latency.record import measured
from flybench.analysis.tune.search_space import TuneSettings
from flybench.config import MethodConfig, RecordConfig, RunConfig, digest, to_tree
from flybench.config.compose import Request, cells
from flybench.core.errors import FlybenchError
from flybench.engine.loading.placement import use_threads
from flybench.metrics.suppression import MIN_TUNING_SAMPLES
from flybench.records.folder import RunFolder
from flybench.run.plan import Plan, make_plan
from flybench.run.provenance import model_facts

log = logging.getLogger(__name__)

# Settings that a tuning sets itself.
OWN = ("method.k", "method.verify", "shuffle", "record.")


@dataclass(frozen=True)
class Prepared:
    """A checked tuning.

    Attributes:
        settings: the grid and the effort.
        config: the configuration from the command line.
        methods: the grid, to be replayed over `first`.
        first: configuration of the recorded half of the samples.
        plan: the plan of `first`.
        second: configuration of the half for confirmation.
        folder: the output folder.
        latency: the file of costs, if given.
    """

    settings: TuneSettings
    config: RunConfig
    methods: list[MethodConfig]
    first: RunConfig
    plan: Plan
    second: RunConfig
    folder: RunFolder
    latency: Path | None

    @classmethod
    def of(cls, settings: TuneSettings, request: Request, latency: Path | None) -> Prepared:
        """Check a tuning, and return it prepared.

        Raises:
            FlybenchError: the tuning cannot succeed with these settings.
        """
        config = _composed(request)
        methods = settings.grid(config.method)
        first, second, folder = _halves(config, settings)
        plan = make_plan(first)
        if plan.task.judged == "unjudged" and config.judge.kind == "none":
            raise FlybenchError(
                f"task={config.task.name} with judge=none cannot be tuned, because its answers "
                "are not scored: add judge=local or judge=openai, or choose a task that a rule "
                "scores."
            )
        if latency is not None:
            _check_costs(plan, settings, config, latency)
        return cls(settings, config, methods, first, plan, second, folder, latency)

    def costs(self) -> Path:
        """Return the file of costs: the given one, the newest one of this pair here, or a new one.

        A new measurement takes a minute or two.
        """
        if self.latency is not None:
            return self.latency
        out = Path(self.config.out).expanduser()
        costed = _costed(self.settings, self.config)
        file = newest(out, model_facts(self.plan), self.config.engine.dtype, costed)
        if file is not None:
            return file
        log.info(
            "Measuring step costs, because no `flybench latency` result for this pair was found."
        )
        use_threads(self.plan.engine)
        made = measured(replace(self.first, out=self.config.out))
        assert made is not None, "there is one rank"
        return made


def _composed(request: Request) -> RunConfig:
    for override in request.overrides:
        if override.key.startswith(OWN):
            raise FlybenchError(
                f"{override.key} is not allowed, because `tune` sets it: remove it, and set the "
                "values to try with tune.k, tune.rule, tune.theta, tune.window and tune.lookup."
            )
    configs = cells(request)
    if len(configs) > 1:
        raise FlybenchError(
            f"flybench tune takes one model and one task, not {len(configs)} runs: remove -m, and "
            "list settings as tune.NAME=VALUE,VALUE."
        )
    (config,) = configs
    if not config.sampling.rule().greedy:
        raise FlybenchError(
            f"sampling.temperature={config.sampling.temperature:g} cannot be tuned, because "
            "only greedy runs are replayed: use sampling=greedy."
        )
    if config.engine.tp > 1:
        raise FlybenchError(
            f"engine.tp={config.engine.tp} is not allowed here: tune on one device, or compare the "
            "settings of interest with flybench run -m."
        )
    return config


def _halves(config: RunConfig, settings: TuneSettings) -> tuple[RunConfig, RunConfig, RunFolder]:
    """Return the configurations of the two halves, in shuffled order, and the output folder."""
    longest = settings.drafters(config.method)[0]
    whole = replace(config, method=longest, shuffle=True)
    count = len(make_plan(whole).prompts)
    if count < MIN_TUNING_SAMPLES:
        raise FlybenchError(
            f"{count} samples are too few to choose on one half and confirm on the other: use at "
            f"least {MIN_TUNING_SAMPLES}, ideally hundreds."
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


def _check_costs(plan: Plan, settings: TuneSettings, config: RunConfig, latency: Path) -> None:
    result = allowed_costs(plan.folder, model_facts(plan), latency)
    check_costs(result, str(latency), _costed(settings, config))


def _costed(settings: TuneSettings, config: RunConfig) -> list[dict[str, Any]]:
    """Return the methods whose costs are needed."""
    return [to_tree(method) for method in settings.drafters(config.method)]
