"""What a pair will take, against what it takes once it is loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import flybench
from flybench.config import EngineConfig, ModelConfig, ModelRef
from flybench.config.compose import cells, parse_request
from flybench.engine.cost.footprint import footprint, stored_bytes
from flybench.engine.cost.sizes import draft_sizes, head_sizes, target_sizes
from flybench.engine.drafters.shared_embeddings import save_layers
from flybench.engine.loading.description import describe_pair
from flybench.engine.loading.load import load_model, load_models
from flybench.engine.loading.random_models import random_model

ENGINE = EngineConfig(kind="eager")
TARGET = ModelRef("random:llama")


def loaded(model: ModelConfig) -> tuple[int, int, int]:
    """Bytes of the target, bytes that the draft adds, and bytes of a token in both caches."""
    target, draft, _ = describe_pair(model, with_draft=True)
    models = load_models(target, draft, lambda info, sharded: load_model(info, ENGINE, sharded))
    held = [
        {tensor.data_ptr(): stored_bytes(tensor) for tensor in each.parameters()} for each in models
    ]
    added = {place: size for place, size in held[1].items() if place not in held[0]}
    caches = sum(footprint(each).kv_bytes_per_token or 0 for each in models)
    return sum(held[0].values()), sum(added.values()), caches


@pytest.fixture
def borrowed(tmp_path: Path) -> ModelRef:
    model = random_model("llama")
    model.config.num_hidden_layers = 1
    model.model.layers = model.model.layers[:1]
    save_layers(model, torch.arange(100), tmp_path / "own", "random:llama")
    return ModelRef(str(tmp_path / "own"))


@pytest.mark.parametrize(
    "draft",
    [
        ModelRef("random:llama:1"),
        replace(TARGET, skip_layers=(1, 3)),
        replace(TARGET, vocab_trim=256),
        ModelRef("random:llama:1", dtype="bf16"),
        None,
    ],
    ids=["own", "skips layers", "trimmed", "bf16", "shared embeddings"],
)
def test_sizes_are_those_of_the_loaded_pair(draft: ModelRef | None, borrowed: ModelRef) -> None:
    model = ModelConfig("pair", TARGET, draft or borrowed)
    target, drafter = target_sizes(TARGET, ENGINE), draft_sizes(model, ENGINE)
    weights, added, caches = loaded(model)
    assert target.weights == weights
    # A trimmed output layer keeps the special ids too, which only a tokenizer knows.
    assert drafter.weights == pytest.approx(added, abs=5 * 64 * 4)
    assert (target.cache or 0) + (drafter.cache or 0) == caches


def test_what_comes_with_flybench_is_known_without_its_target() -> None:
    (config,) = cells(parse_request(["model=smollm2"]))
    half = replace(ENGINE, dtype="bf16")  # as its files are
    assert draft_sizes(config.model, half).weights
    head = head_sizes(config.model, half)
    file = Path(flybench.__file__).parent / "weights" / "smollm2_eagle3" / "model.safetensors"
    assert head.cache
    assert head.weights == pytest.approx(file.stat().st_size, rel=0.1)  # ids lie beside weights


def test_weights_in_fewer_bits_take_less() -> None:
    whole = ModelRef("org/model", shape="llama-8b", dtype="bf16")
    int8, nf4 = (
        target_sizes(replace(whole, quantize=how), ENGINE).weights for how in ("int8", "nf4")
    )
    # Embeddings and output, 2 · 128256 · 4096 numbers, stay as they are.
    kept = 2 * 2 * 128256 * 4096
    linear = (target_sizes(whole, ENGINE).weights or 0) - kept
    assert int8 == pytest.approx(kept + linear / 2, rel=0.01)
    assert nf4 == pytest.approx(kept + linear * 9 / 32, rel=0.01)


def test_a_quantised_checkpoint_takes_what_its_files_take(tmp_path: Path) -> None:
    config = random_model("llama").config
    config.quantization_config = {"quant_method": "fp8"}
    config.save_pretrained(tmp_path)
    save_file({"packed": torch.zeros(1000, dtype=torch.uint8)}, tmp_path / "model.safetensors")
    size = (tmp_path / "model.safetensors").stat().st_size
    assert target_sizes(ModelRef(str(tmp_path)), ENGINE).weights == size
