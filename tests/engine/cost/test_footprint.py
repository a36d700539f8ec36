"""Bytes that a decoded token reads, against the same bytes counted by hand."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from flybench.engine.cost.footprint import Footprint, footprint, stored_bytes
from flybench.engine.drafters.layer_skip import without_layers
from tests.helpers import toys

VOCAB, WIDTH, INNER, LAYERS = 261, 64, 128, 4
# q and o are WIDTH², k and v half of it (2 heads of 4); three matrices of the MLP; two norms.
LAYER = 3 * WIDTH * WIDTH + 3 * WIDTH * INNER + 2 * WIDTH
FP32 = 4
# keys and values · 2 heads · 16 numbers
KV_LAYER = 2 * 2 * 16


def built(arch: str, **changes: Any) -> PreTrainedModel:
    shape = {
        "vocab_size": VOCAB, "hidden_size": WIDTH, "intermediate_size": INNER,
        "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2,
    }  # fmt: skip
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(arch, **shape | changes))


def test_an_untied_model_by_hand() -> None:
    numbers = LAYERS * LAYER + WIDTH + VOCAB * WIDTH + WIDTH  # norm, output layer, one row
    assert footprint(toys.model("llama")) == Footprint(FP32 * numbers, FP32 * LAYERS * KV_LAYER)


def test_a_tied_embedding_is_read_once_as_the_output_layer() -> None:
    tied = built("llama", tie_word_embeddings=True)
    assert footprint(tied).weight_bytes == FP32 * (LAYERS * LAYER + WIDTH + VOCAB * WIDTH)


def test_half_the_bytes_of_a_number_are_half_the_footprint() -> None:
    whole = footprint(toys.model("llama"))
    half = footprint(copy.deepcopy(toys.model("llama")).to(torch.bfloat16))  # type: ignore[call-arg]
    assert whole.weight_bytes == 2 * (half.weight_bytes or 0)
    assert whole.kv_bytes_per_token == 2 * (half.kv_bytes_per_token or 0)


def test_layers_left_out_are_not_read() -> None:
    whole, part = (
        footprint(model)
        for model in (toys.model("llama"), without_layers(toys.model("llama"), 1, 3))
    )
    assert whole.weight_bytes is not None and whole.kv_bytes_per_token is not None
    assert part.weight_bytes == whole.weight_bytes - 2 * FP32 * LAYER
    assert part.kv_bytes_per_token == whole.kv_bytes_per_token // 2


def test_layers_that_share_their_weights_count_once() -> None:
    model = copy.deepcopy(toys.model("llama"))
    model.model.layers[1].mlp.gate_proj.weight = model.model.layers[2].mlp.gate_proj.weight
    whole = footprint(toys.model("llama")).weight_bytes
    assert whole is not None
    assert footprint(model).weight_bytes == whole - FP32 * WIDTH * INNER


def test_buffers_of_a_quantised_layer_count_in_their_stored_type() -> None:
    model = copy.deepcopy(toys.model("llama"))
    down = model.model.layers[0].mlp.down_proj
    del down.weight
    down.register_buffer("qweight", torch.zeros(WIDTH, INNER // 2, dtype=torch.uint8))
    whole = footprint(toys.model("llama")).weight_bytes
    assert whole is not None
    assert footprint(model).weight_bytes == whole - FP32 * WIDTH * INNER + WIDTH * INNER // 2


def test_a_quantised_tensor_counts_the_tensors_inside() -> None:
    class Shell(nn.Module):
        """As PyTorch's tensor subclasses spell it."""

        def __init__(self) -> None:
            super().__init__()
            self.codes = torch.zeros(10, dtype=torch.uint8)
            self.scales = torch.zeros(3)

        def __tensor_flatten__(self) -> tuple[list[str], None]:
            return ["codes", "scales"], None

    assert stored_bytes(Shell()) == 10 + 3 * 4  # type: ignore[arg-type]


def test_the_cache_is_what_transformers_keeps(arch: str) -> None:
    model = toys.eager(arch)
    model.extend(torch.arange(7), rows=1)
    kept = sum(
        tensor.nbytes for layer in model._cache.layers for tensor in (layer.keys, layer.values)
    )
    assert footprint(toys.model(arch)).kv_bytes_per_token == kept // 7
    model.reset()


def test_a_mixture_of_experts_has_no_fixed_footprint() -> None:
    found = footprint(built("mixtral", num_local_experts=4))
    assert found.weight_bytes is None
    assert found.kv_bytes_per_token == FP32 * LAYERS * KV_LAYER


@pytest.mark.parametrize("change", [{"kv_lora_rank": 8}, {"num_key_value_heads": [1, 2, 2, 2]}])
def test_a_cache_of_another_kind_is_unknown(change: dict[str, Any]) -> None:
    model = copy.copy(toys.model("llama"))
    model.config = copy.deepcopy(model.config)
    for name, value in change.items():
        object.__setattr__(model.config, name, value)
    assert footprint(model).kv_bytes_per_token is None


def test_a_compressed_cache_is_unknown() -> None:
    shape = {"kv_lora_rank": 16, "q_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 16}
    deepseek = built("deepseek_v3", n_routed_experts=4, first_k_dense_replace=4, **shape)
    assert footprint(deepseek).kv_bytes_per_token is None
