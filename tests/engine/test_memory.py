"""Hundreds of samples in a row leave the process as large as it was."""

from __future__ import annotations

import copy
import gc

import psutil
import pytest

from flybench.config import DraftConfig, MethodConfig, VerifyConfig
from flybench.decode import StopRule, build_decoder
from flybench.engine.base import CachedModel, Target
from flybench.engine.drafters.layer_skip import with_layers
from flybench.engine.eager.model import EagerModel, EagerTarget
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.target import GraphTarget
from flybench.sampling import Sampling
from tests.helpers import toys

SAMPLES, SETTLED = 600, 200
# Keeping each sample's keys and values of both models would add more than 20 MB.
GROWTH_BYTES = 8 << 20


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["eager", "graph"])
def test_hundreds_of_samples_do_not_grow_the_process(engine: str) -> None:
    # One layer keeps what four keep, and takes a quarter of the time.
    pair = [with_layers(full("llama"), [0]) for full in (toys.model, toys.near_model)]
    draft: CachedModel = EagerModel(pair[1], toys.VOCAB)
    target: Target = EagerTarget(EagerModel(pair[0], toys.VOCAB))
    if engine == "graph":
        captured = [GraphModel(copy.deepcopy(model), toys.VOCAB, 100) for model in pair]
        target, draft = GraphTarget(captured[0]), captured[1]
    method = MethodConfig("fly", 2, DraftConfig.of("nested"), VerifyConfig.of("fly", window=1))
    decoder = build_decoder(method, target, draft, Sampling())
    stop = StopRule(frozenset(), 1)
    process, before = psutil.Process(), 0
    for sample in range(SAMPLES):
        prompt = [(sample * 7 + i * i) % toys.VOCAB for i in range(20 + sample % 20)]
        decoder.decode(prompt, stop, sample)
        if sample == SETTLED:
            gc.collect()
            before = process.memory_info().rss
    gc.collect()
    assert process.memory_info().rss - before < GROWTH_BYTES
