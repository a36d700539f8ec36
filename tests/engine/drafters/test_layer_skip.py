"""A draft made of the target's own layers: shared memory, and an untouched original."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import pytest
import torch
from transformers import AutoModelForCausalLM, PretrainedConfig, PreTrainedModel

from flybench.core.errors import FlybenchError
from flybench.engine.drafters.layer_skip import without_layers
from flybench.engine.eager.model import EagerModel
from flybench.engine.loading.random_models import random_model
from tests.helpers import toys

TEXT = torch.randint(0, toys.VOCAB, (1, 50), generator=torch.Generator().manual_seed(1))
KINDS = ["sliding_attention", "full_attention", "full_attention", "sliding_attention"]


def mixed_gemma() -> PreTrainedModel:
    """gemma3 with both kinds of attention, so that a wrong order of layers shows."""
    config = copy.deepcopy(toys.model("gemma3").config)
    config.layer_types = list(KINDS)
    return with_weights_of(config, toys.model("gemma3"), range(4))


def with_weights_of(
    config: PretrainedConfig, model: PreTrainedModel, layers: Sequence[int]
) -> PreTrainedModel:
    """A model of `config` whose layers are copies of the given ones of `model`."""
    other: PreTrainedModel = AutoModelForCausalLM.from_config(config)
    state = {}
    for name, tensor in model.state_dict().items():
        parts = name.split(".")
        if parts[1] == "layers":
            if int(parts[2]) not in layers:
                continue
            parts[2] = str(layers.index(int(parts[2])))
        state[".".join(parts)] = tensor.clone()
    other.load_state_dict(state)
    return other.eval()


def logits_of(model: PreTrainedModel) -> torch.Tensor:
    with torch.inference_mode():
        return model(TEXT, use_cache=False).logits[0]


def test_every_tensor_is_the_original_own_memory(arch: str) -> None:
    model = random_model(arch)
    addresses = {tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers())}
    draft = without_layers(model, 1, 3)
    tensors = [*draft.parameters(), *draft.buffers()]
    assert all(tensor.data_ptr() in addresses for tensor in tensors)
    with torch.no_grad():
        model.model.layers[3].mlp.down_proj.weight.zero_()
        assert not draft.model.layers[1].mlp.down_proj.weight.any()


def test_the_original_is_left_as_it_was(arch: str) -> None:
    model = random_model(arch)
    before, config = logits_of(model), model.config.to_dict()
    indices = [layer.self_attn.layer_idx for layer in model.model.layers]
    draft = without_layers(model, 1, 3)
    logits_of(draft)
    assert torch.equal(logits_of(model), before)
    assert model.config.to_dict() == config
    assert len(model.model.layers) == 4
    assert [layer.self_attn.layer_idx for layer in model.model.layers] == indices == [0, 1, 2, 3]


@pytest.mark.parametrize(("first", "end"), [(1, 2), (2, 3), (1, 3)])
def test_remaining_layers_are_numbered_anew(arch: str, first: int, end: int) -> None:
    model = toys.model(arch)
    draft = without_layers(model, first, end)
    kept = [index for index in range(4) if not first <= index < end]
    assert draft.config.num_hidden_layers == len(draft.model.layers) == len(kept)
    assert [layer.self_attn.layer_idx for layer in draft.model.layers] == list(range(len(kept)))
    for layer, index in zip(draft.model.layers, kept, strict=True):
        original = model.model.layers[index].self_attn.q_proj.weight
        assert layer.self_attn.q_proj.weight.data_ptr() == original.data_ptr()


@pytest.mark.parametrize("run", [(1, 2), (1, 3)])
@pytest.mark.parametrize("make", [lambda: toys.model("llama"), mixed_gemma], ids=["llama", "mixed"])
def test_logits_equal_a_model_built_without_those_layers(
    make: Callable[[], PreTrainedModel], run: tuple[int, int]
) -> None:
    model = make()
    draft = without_layers(model, *run)
    config = copy.deepcopy(draft.config)
    kept = [index for index in range(4) if not run[0] <= index < run[1]]
    other = with_weights_of(config, model, kept)
    assert float((logits_of(draft) - logits_of(other)).abs().max()) <= 1e-5
    assert float((logits_of(draft) - logits_of(model)).abs().max()) > 1e-2


def test_kinds_of_attention_follow_their_layers() -> None:
    draft = without_layers(mixed_gemma(), 1, 2)
    assert draft.config.layer_types == [KINDS[0], KINDS[2], KINDS[3]]


def test_the_draft_can_be_read_with_a_cache_of_its_own(arch: str) -> None:
    draft = without_layers(toys.model(arch), 1, 2)
    cached = EagerModel(draft, toys.VOCAB)
    cached.extend(TEXT[0, :30], rows=0)
    cached.rollback(20)
    rows = cached.extend(TEXT[0, 20:], rows=30)
    assert float((rows - logits_of(draft)[20:]).abs().max()) <= 1e-5


@pytest.mark.parametrize(("first", "end"), [(0, 2), (2, 2), (3, 2), (1, 4), (1, 9), (-1, 2)])
def test_first_and_last_layer_must_stay(first: int, end: int) -> None:
    with pytest.raises(FlybenchError) as caught:
        without_layers(toys.model("llama"), first, end)
    toys.assert_one_sentence(caught.value, f"[{first}, {end}]", "4 layers", "choose 1 <= first")
