"""Verification rules, one module each; `method.verify.kind` selects one."""

from __future__ import annotations

from flybench.config import VerifyConfig
from flybench.core.loading import load_class
from flybench.sampling import Sampling
from flybench.verify.base import Verifier
from flybench.verify.statistics import StatisticsVerifier


def build_rule(config: VerifyConfig, sampling: Sampling) -> Verifier:
    """Build the rule of `config`.

    Raises:
        FlybenchError: the rule does not support the temperature.
    """
    declaration = config.declaration(sampling.greedy)
    rule: Verifier = load_class(declaration.file, declaration.class_name)(**dict(config.values))
    return rule


def build_verifier(config: VerifyConfig, sampling: Sampling) -> Verifier:
    """Build the rule for the decode loop; loose rules also return the target's statistics.

    Raises:
        FlybenchError: as `build_rule`.
    """
    rule = build_rule(config, sampling)
    lossless = config.declaration(sampling.greedy).option("lossless", False)
    return rule if lossless else StatisticsVerifier(rule)
