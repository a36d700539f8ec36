"""Shapes hold as many numbers as the public checkpoints, and every shipped pair names its own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from flybench.config.groups import conf_dir, read_yaml
from flybench.core.errors import FlybenchError
from flybench.engine.loading.shapes import SHAPES, random_weights, shape_config
from tests.helpers.toys import assert_one_sentence

# Parameters that the hub counts in the checkpoints' own files.
PARAMETERS = {
    "llama-1b": 1_235_814_400,
    "llama-8b": 8_030_261_248,
    "llama-70b": 70_553_706_496,
    "llama-405b": 405_853_388_800,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-0.6b": 596_049_920,
    "qwen3-32b": 32_762_123_264,
    "smollm2-135m": 134_515_008,
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_has_the_parameters_of_its_checkpoint(name: str) -> None:
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(shape_config(name))
    # Tied embeddings are one parameter under two names.
    assert sum(weight.numel() for weight in model.parameters()) == PARAMETERS[name]


@pytest.mark.parametrize(
    "file", sorted((conf_dir() / "model").glob("*.yaml")), ids=lambda f: f.stem
)
def test_every_pair_of_the_hub_names_its_shapes(file: Path) -> None:
    config = read_yaml(file)
    for ref in (config["target"], config["draft"]):
        known = ref is None or ref["path"] == "???" or ref["path"].startswith("random:")
        # What comes with flybench needs no fetching.
        if not known and not ref["path"].startswith("package:flybench/"):
            assert ref["shape"] in SHAPES


def test_an_unknown_shape_is_refused() -> None:
    with pytest.raises(FlybenchError) as caught:
        shape_config("llama-8")
    assert_one_sentence(caught.value, "shape llama-8 ", "did you mean llama-8b")


def test_random_weights_are_made_where_they_run() -> None:
    config = shape_config("smollm2-135m")
    config.num_hidden_layers = 1
    model = random_weights(config, torch.bfloat16, torch.device("cpu"))
    assert (model.dtype, model.training) == (torch.bfloat16, False)
    assert not any(weight.requires_grad for weight in model.parameters())
