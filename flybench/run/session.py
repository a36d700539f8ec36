"""A loaded pair of models with its decoders, which are built once."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field
from typing import Any

from flybench.config import MethodConfig
from flybench.decode import AR, AR_AGAIN, Decoder, build_decoder
from flybench.distributed import rank
from flybench.engine.loading.load import LoadedPair, load_pair
from flybench.measure.roofline import read_bandwidth
from flybench.run.setup import ModelSetup, Weights
from flybench.sampling import Sampling

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Session:
    """A loaded pair, the bytes that its models read for each token, and its decoders."""

    weights: Weights
    max_length: int
    pair: LoadedPair
    costs: dict[str, Any]
    _decoders: dict[tuple[MethodConfig, Sampling, bool], Decoder] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: ModelSetup, max_length: int) -> Session:
        """Load the models of a plan, for texts of up to `max_length` tokens."""
        # Measured before loading, while memory is free, so the peak memory is that of the models.
        bandwidth = read_bandwidth(plan.device)
        pair = load_pair(
            plan.target, plan.draft, plan.vocab_size, plan.engine, max_length, plan.head
        )
        draft = pair.draft_footprint
        costs = {
            "read_bandwidth": bandwidth,
            "target": asdict(pair.target_footprint),
            "draft": None if draft is None else asdict(draft),
        }
        if plan.engine.kind == "graph" and plan.device.type == "cuda" and not rank():
            log.info("Compiling and capturing CUDA graphs: up to a minute, less if cached.")
        return cls(plan.weights, max_length, pair, costs)

    def can_run(self, weights: Weights, length: int) -> bool:
        """Return True if these weights are loaded, for texts of up to `length` tokens."""
        return self.weights.includes(weights) and length <= self.max_length

    def decoder(self, method: MethodConfig, sampling: Sampling, traces: bool = False) -> Decoder:
        """Return the decoder of a method; the repeat of AR uses the same one as AR."""
        method = AR if method == AR_AGAIN else method
        key = method, sampling, traces
        if key not in self._decoders:
            built = build_decoder(method, self.pair.target, self.pair.draft, sampling, traces)
            self._decoders[key] = built
        return self._decoders[key]
