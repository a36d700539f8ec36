"""The complete configuration of a run, which is one cell of a sweep."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar

from flybench.config.checks import MAX_COUNT, build, positive
from flybench.config.component import ComponentConfig
from flybench.config.engine import EngineConfig, SamplingConfig
from flybench.config.judge import JudgeConfig
from flybench.config.method import BASELINE, REPEAT, MethodConfig
from flybench.config.model import ModelConfig
from flybench.config.task import TaskConfig
from flybench.core.errors import FlybenchError


@dataclass(frozen=True)
class BaselineConfig:
    """Number of times that AR decodes a sample; the second pass measures AR's own noise."""

    repeat: int = 1

    def __post_init__(self) -> None:
        if self.repeat not in (1, 2):
            raise FlybenchError(
                f"baseline.repeat={self.repeat} is not allowed: use 1, or 2 for the noise floor."
            )


@dataclass(frozen=True)
class RecordConfig:
    """Optional outputs of a run.

    `traces` are the target's statistics at every draft token, which `flybench replay` reads.
    """

    traces: bool = False


@dataclass(frozen=True)
class RunConfig:
    """The configuration of one run: model, method, task, engine, sampling and measurement."""

    model: ModelConfig
    method: MethodConfig
    task: TaskConfig
    engine: EngineConfig = EngineConfig()
    sampling: SamplingConfig = SamplingConfig()
    baseline: BaselineConfig = BaselineConfig()
    judge: JudgeConfig = JudgeConfig()
    record: RecordConfig = RecordConfig()
    limit: int | None = None
    offset: int = 0
    shuffle: bool = False
    seed: int = 0
    warmup: int = 1
    retention_margin: float = 0.01
    out: str = "results"
    fresh: bool = False  # move older records aside and decode every sample again

    # The settings that decide the tokens; others (judge, traces, limit, …) may change on resume.
    KEYED: ClassVar[tuple[str, ...]] = ("model", "method", "task", "engine", "sampling", "seed")

    def __post_init__(self) -> None:
        if self.limit is not None:
            positive("limit", self.limit)
        for name, value in (("offset", self.offset), ("warmup", self.warmup)):
            if not 0 <= value < MAX_COUNT:
                raise FlybenchError(
                    f"{name}={value} is not allowed: use 0 or more, below {MAX_COUNT:,}."
                )
        if not 0 < self.retention_margin < 1:
            raise FlybenchError(
                f"retention_margin={self.retention_margin:g} is not allowed: use a number between "
                "0 and 1, such as 0.01 for 1 %."
            )
        if self.method.name == REPEAT:
            raise FlybenchError(
                f"method.name={REPEAT} is not allowed, because it names AR's second pass: use "
                f"method={BASELINE} with baseline.repeat=2."
            )
        if self.method.needs_draft_model and self.model.draft is None:
            raise FlybenchError(
                f"method {self.method.name} needs a draft model, and model {self.model.name} has "
                "none: add model.draft.path=… or choose method=lookup or method=ar."
            )
        if self.method.needs_head and self.model.eagle3 is None:
            raise FlybenchError(
                f"method {self.method.name} needs an EAGLE-3 head, and model {self.model.name} has "
                "none: add model.eagle3=HUB_ID_OR_FOLDER, or choose method=spd or method=lookup."
            )
        if self.record.traces and self.method.draft.grows_trees:
            depth = self.method.draft["tree_depth"]
            raise FlybenchError(
                f"record.traces=true with method.draft.tree_depth={depth} "
                "is not allowed, because only chains can be traced: use method.draft.tree_depth=0, "
                "or record.traces=false."
            )
        if self.judge.kind == "local" and self.engine.tp > 1:
            raise FlybenchError(
                f"judge=local with engine.tp={self.engine.tp} is not allowed, because a judge runs "
                "in one process: use judge=none, then run `flybench score RUN judge=local …`."
            )
        self._check_regime()

    def _check_regime(self) -> None:
        if not self.method.verify.declared:  # a finished run whose file was deleted
            return
        rule = self.method.verify.declaration(self.sampling.rule().greedy)
        name, value = rule.option("greedy_draft", None) or ("", "")
        wanted = name and self.method.verify[name] == value and self.method.needs_draft_model
        if wanted and self.method.draft["draw"] != "greedy":
            raise FlybenchError(
                f"method.verify.{name}={value} requires a greedy draft, because it compares draft "
                "tokens with the target's samples: add method.draft.draw=greedy."
            )

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> RunConfig:
        """Build the configuration from Hydra's resolved tree.

        Raises:
            FlybenchError: a key is unknown, a value has the wrong type or is not allowed.
        """
        return build(cls, tree, "")

    def identity(self) -> dict[str, Any]:
        """Return the part of the configuration that decides the tokens."""
        return {name: _decisive(getattr(self, name)) for name in self.KEYED}


def _decisive(value: Any) -> Any:
    """Return `value` as plain data without the fields that are excluded from comparisons.

    These are descriptions, and fields that another setting determines.
    """
    if isinstance(value, ComponentConfig):
        return value.identity()
    if not is_dataclass(value):
        return value
    return {
        each.name: _decisive(getattr(value, each.name)) for each in fields(value) if each.compare
    }


def to_tree(config: Any) -> Any:
    """Convert a configuration to plain data, as written to YAML files and provenance."""
    if isinstance(config, ComponentConfig):
        return config.tree()
    if is_dataclass(config):
        return {each.name: to_tree(getattr(config, each.name)) for each in fields(config)}
    return [to_tree(each) for each in config] if isinstance(config, tuple) else config


def digest(value: Any) -> str:
    """Return the SHA-256 of plain data, independent of the order of keys."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
