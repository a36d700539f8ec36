"""From a method's configuration to a decoder that can answer."""

from __future__ import annotations

from flybench.config import BASELINE, REPEAT, MethodConfig
from flybench.decode import Decoder
from flybench.draft import build_drafter
from flybench.engine.base import CachedModel, Target
from flybench.engine.eagle3.model import HeadModel
from flybench.measure.clock import Clock
from flybench.sampling import Sampling
from flybench.verify import build_verifier
from flybench.verify.tracing import TracingVerifier

AR = MethodConfig(name=BASELINE)
AR_AGAIN = MethodConfig(name=REPEAT)


def build_decoder(
    method: MethodConfig,
    target: Target,
    draft: CachedModel | HeadModel | None,
    sampling: Sampling,
    traces: bool = False,
) -> Decoder:
    """A decoder on loaded models, with everything that its passes need prepared; with `traces` it
    keeps what the target thought of every drafted token."""
    rule, tree = build_verifier(method.verify, sampling), method.draft.tree_depth > 0
    rule = TracingVerifier(rule) if traces else rule
    own, verifier = target.prepare(rule, method.k, sampling, tree)
    return Decoder(
        target=own,
        drafter=build_drafter(method.draft, draft, sampling, target.device, method.k),
        verifier=verifier,
        k=method.k,
        sampling=sampling,
        clock=Clock(target.device),
    )
