"""Configuration groups as frozen dataclasses, one module per group.

Hydra composes `conf/` and the command line into a tree. `RunConfig.from_tree` converts it to these
dataclasses and rejects invalid combinations before any weight is loaded. No module here imports a
model.
"""

from __future__ import annotations

from flybench.config.engine import EngineConfig, SamplingConfig
from flybench.config.judge import JudgeConfig
from flybench.config.method import (
    BASELINE,
    BASELINES,
    DRAFT_MODEL_KINDS,
    EXACT,
    NO_DRAFT,
    REPEAT,
    DraftConfig,
    MethodConfig,
    VerifyConfig,
)
from flybench.config.model import ModelConfig, ModelRef
from flybench.config.run import BaselineConfig, RecordConfig, RunConfig, digest, to_tree
from flybench.config.task import TaskConfig

__all__ = [
    "BASELINE",
    "BASELINES",
    "BaselineConfig",
    "DRAFT_MODEL_KINDS",
    "DraftConfig",
    "EXACT",
    "EngineConfig",
    "JudgeConfig",
    "MethodConfig",
    "ModelConfig",
    "ModelRef",
    "NO_DRAFT",
    "REPEAT",
    "RecordConfig",
    "RunConfig",
    "SamplingConfig",
    "TaskConfig",
    "VerifyConfig",
    "digest",
    "to_tree",
]
