"""Fixtures that every test may use: tiny random models, a byte tokenizer, a private cache."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from flybench.cli.log import logging_to_stderr
from flybench.core.samples import Generation
from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.eager.model import EagerTarget
from flybench.engine.loading import placement
from flybench.engine.loading.random_models import byte_tokenizer
from flybench.measure import roofline as bandwidth
from flybench.run import provenance
from flybench.run import runner as run
from flybench.sampling import Sampling
from tests.helpers import toys

# For fixtures that are made before a test; `one_thread` below is for the tests.
torch.set_num_threads(1)
# No test needs the true bandwidth, which takes the better part of a second to find.
bandwidth.BUFFER_BYTES["cpu"] = 32 << 20


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """flybench's cache folder is a temporary one, so that no test reads or leaves anything.

    Workers side by side share it, and what one has converted.
    """
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ["FLYBENCH_CACHE"] = str(base / "cache")
    yield
    gc.unfreeze()  # else extension modules say at the end that they leak


@pytest.fixture(scope="module", autouse=True)
def frozen() -> None:
    """Collecting garbage, as commands do, passes over the many modules that are there for good."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread, whatever a test before asked for: models this small are fastest so, and the sums
    come out in one order. Commands keep to it as well, any processor serves any type, and none is
    busy, which takes half a second to see; a warm-up is short, since no test believes a timing."""
    torch.set_num_threads(1)
    monkeypatch.setattr(run, "WARMUP_TOKENS", 2)
    monkeypatch.setattr(provenance, "busy_share", lambda: 0.0)
    monkeypatch.setattr(placement, "physical_cores", lambda: 1)
    monkeypatch.setattr(placement, "computes_natively", lambda dtype: True)


@pytest.fixture
def log_on_stderr() -> Iterator[None]:
    """The package's log is on stderr, as a command puts it there."""
    with logging_to_stderr():
        yield


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    return byte_tokenizer()


@pytest.fixture(scope="session")
def prompt_ids(tokenizer: PreTrainedTokenizerFast) -> list[int]:
    text = "the cat sat on the mat and the cat sat on the hat."
    return [tokenizer.bos_token_id, *tokenizer.encode(text)]


SLOW = pytest.mark.slow
ARCHITECTURES = [pytest.param("llama", marks=SLOW), pytest.param("qwen3", marks=SLOW), "gemma3"]


@pytest.fixture(scope="session", params=ARCHITECTURES)
def arch(request: pytest.FixtureRequest) -> str:
    """The fast lane takes the one with most parts: windows, soft caps and norms of heads."""
    return str(request.param)


@pytest.fixture(scope="session")
def target(arch: str) -> EagerTarget:
    return EagerTarget(toys.eager(arch))


@pytest.fixture(scope="session")
def ar_answer(target: EagerTarget, prompt_ids: list[int]) -> Generation:
    """The plain greedy answer, `ANSWER_TOKENS` tokens without any end."""
    decoder = build_decoder(AR, target, None, Sampling())
    return decoder.decode(prompt_ids, StopRule(frozenset(), toys.ANSWER_TOKENS))
