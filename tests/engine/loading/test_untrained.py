"""Architectures without their weights: by shape, by configuration, and what does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from flybench.config import EngineConfig, ModelRef
from flybench.core.errors import FlybenchError
from flybench.engine.loading import untrained
from flybench.engine.loading.untrained import architecture, fill
from tests.helpers import toys

CPU = EngineConfig(device="cpu")


@pytest.fixture(autouse=True)
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        AutoModelForCausalLM, "from_pretrained", lambda *args, **kwargs: pytest.fail("loaded")
    )


def test_a_shape_needs_neither_files_nor_the_hub() -> None:
    info = architecture(ModelRef("org/unreachable", shape="smollm2-135m", device="balanced"))
    assert (info.config.num_hidden_layers, info.graph_unsupported_reason) == (30, None)
    assert info.ref.device == "auto"


def test_without_a_shape_the_configuration_decides(tmp_path: Path, arch: str) -> None:
    toys.model(arch).config.save_pretrained(tmp_path)
    for path in (str(tmp_path), f"random:{arch}"):
        model = fill(architecture(ModelRef(path)), CPU)
        assert {name: tensor.shape for name, tensor in model.state_dict().items()} == {
            name: tensor.shape for name, tensor in toys.model(arch).state_dict().items()
        }
        assert model.dtype == torch.float32


def test_the_type_is_the_pair_own() -> None:
    assert fill(architecture(ModelRef("random:llama", dtype="bf16")), CPU).dtype == torch.bfloat16


def test_random_weights_are_not_quantised() -> None:
    with pytest.raises(FlybenchError) as caught:
        architecture(ModelRef("org/big", shape="llama-1b", quantize="int8"))
    toys.assert_one_sentence(caught.value, "quantize=int8", "weights=random")


def test_an_unreachable_configuration_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*args: object, **options: object) -> None:
        raise OSError("We couldn't connect. Check your network.")

    monkeypatch.setattr(untrained.AutoConfig, "from_pretrained", offline)
    with pytest.raises(FlybenchError) as caught:
        architecture(ModelRef("org/unreachable"))
    toys.assert_one_sentence(caught.value, "org/unreachable", "shape to one of llama-1b")


def test_weights_that_do_not_fit_are_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(untrained, "free_bytes", lambda device: 10**9)
    with pytest.raises(FlybenchError) as caught:
        fill(architecture(ModelRef("org/big", shape="llama-1b")), CPU)
    toys.assert_one_sentence(caught.value, "llama-1b take 4.9 GB", "1.0 GB free", "bf16")
