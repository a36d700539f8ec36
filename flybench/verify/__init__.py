"""Who decides: one file a rule, chosen by `method.verify.kind`."""

from __future__ import annotations

from typing import cast

from flybench.config import VerifyConfig
from flybench.sampling import Sampling
from flybench.verify.base import Verifier
from flybench.verify.exact import ExactVerifier
from flybench.verify.fly import AtTemperature, FlyVerifier, Rule
from flybench.verify.rejection import RejectionVerifier


def build_verifier(config: VerifyConfig, sampling: Sampling) -> Verifier:
    """The verifier of `config`; lossless verification is exact if greedy, else by rejection."""
    if config.kind == "exact":
        return ExactVerifier() if sampling.greedy else RejectionVerifier()
    return FlyVerifier(
        rule=cast(Rule, config.rule),
        theta=config.theta,
        window=config.window,
        at_temperature=cast(AtTemperature, config.at_temperature),
    )
