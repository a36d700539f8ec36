"""A draft of its own layers on the target's embeddings: what is saved is what drafts."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from flybench.analysis.latency.pair import load_timed
from flybench.config import DraftConfig, EngineConfig, MethodConfig, ModelConfig, ModelRef
from flybench.core.errors import FlybenchError
from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.drafters.layer_skip import with_layers
from flybench.engine.drafters.shared_embeddings import (
    attach_layers,
    read_layers,
    save_layers,
    shares_embeddings,
)
from flybench.engine.eager.model import EagerTarget
from flybench.engine.loading.description import describe, describe_pair
from flybench.engine.loading.load import load_pair
from flybench.engine.loading.placement import check_ranks
from flybench.sampling import Sampling
from tests.helpers import toys

SPD = MethodConfig("spd", 5, DraftConfig.of("model"))
IDS = torch.tensor([200, 5, 90, 17, 33, 250, 60, 61, 62])
TEXT = torch.tensor([[1, 2, 3, 40, 50]])


def layers_of(arch: str, keep: tuple[int, ...] = (2, 0)) -> PreTrainedModel:
    """In bf16 and back, which is how layers are saved."""
    model = with_layers(copy.deepcopy(toys.model(arch)), keep)
    for part in (model.model.layers, model.model.norm):
        part.bfloat16().float()
    return model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_layers(layers_of("llama"), IDS, tmp_path / "own", "toy")
    return tmp_path / "own"


def pair_config(folder: Path, **draft: object) -> ModelConfig:
    return ModelConfig("p", ModelRef("random:llama"), ModelRef(str(folder), **draft))  # type: ignore[arg-type]


@pytest.mark.parametrize("arch", ["llama", "qwen3", "gemma3"])
def test_what_is_saved_is_what_is_borrowed_for(arch: str, tmp_path: Path) -> None:
    target, original = toys.model(arch), layers_of(arch)
    before = {name: weight.clone() for name, weight in target.named_parameters()}
    save_layers(original, IDS, tmp_path, "toy")
    draft = attach_layers(target, read_layers(tmp_path))
    with torch.inference_mode():
        torch.testing.assert_close(draft(TEXT).logits, original(TEXT).logits)
    assert draft.get_input_embeddings().weight is target.get_input_embeddings().weight
    assert draft.get_output_embeddings().weight is target.get_output_embeddings().weight
    assert len(target.model.layers) == target.config.num_hidden_layers == 4
    assert all(torch.equal(weight, before[name]) for name, weight in target.named_parameters())


@pytest.mark.parametrize("kind", ["eager", "graph"])
def test_a_run_drafts_with_it(kind: str, folder: Path, prompt_ids: list[int]) -> None:
    target, draft, vocab = describe_pair(pair_config(folder), with_draft=True)
    assert draft is not None
    assert set(draft.files) == {"config.json", "model.safetensors"}
    assert draft.eos_ids == target.eos_ids
    pair = load_pair(target, draft, vocab, EngineConfig(kind, device="cpu"), 512)
    assert pair.draft_ids is not None
    assert pair.draft_ids.tolist() == sorted(IDS.tolist())
    decoder = build_decoder(SPD, pair.target, pair.draft, Sampling())
    found = decoder.decode(prompt_ids, StopRule(frozenset(), 50))
    plain = build_decoder(AR, EagerTarget(toys.eager("llama")), None, Sampling())
    assert found.ids == plain.decode(prompt_ids, StopRule(frozenset(), 50)).ids


def test_it_is_costed_on_a_target_of_random_weights(folder: Path) -> None:
    engine, cpu = EngineConfig(device="cpu"), torch.device("cpu")
    costed = load_timed(pair_config(folder), True, engine, "random", cpu)
    target, draft = (costed.models[role].model for role in ("target", "draft"))
    assert len(draft.model.layers) == read_layers(folder).layers
    assert draft.model.embed_tokens.weight is target.model.embed_tokens.weight
    assert costed.models["draft"].facts["parameters"] < costed.models["target"].facts["parameters"]


def test_a_trim_keeps_the_most_frequent(folder: Path) -> None:
    _, draft, _ = describe_pair(pair_config(folder, vocab_trim=3), with_draft=True)
    assert draft is not None
    assert draft.draft_ids is not None
    assert draft.draft_ids.tolist() == [5, 90, 200]


def test_only_such_a_folder_borrows(folder: Path, tmp_path: Path) -> None:
    assert shares_embeddings(folder)
    assert not shares_embeddings(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    assert not shares_embeddings(tmp_path)


def refused(config: ModelConfig, *parts: str) -> None:
    with pytest.raises(FlybenchError) as caught:
        infos = describe_pair(config, with_draft=True)
        load_pair(*infos, EngineConfig("eager", device="cpu"), 512)
    toys.assert_one_sentence(caught.value, *parts)


def test_it_is_no_target(folder: Path) -> None:
    with pytest.raises(FlybenchError) as caught:
        describe(ModelRef(str(folder)))
    toys.assert_one_sentence(caught.value, str(folder), "model.draft.path")


def test_options_that_mean_nothing_here_are_refused(folder: Path) -> None:
    refused(pair_config(folder, skip_layers=(1, 2)), "model.draft.skip_layers")
    refused(pair_config(folder, quantize="int8"), "model.draft.quantize=int8")


def test_another_target_is_refused(folder: Path) -> None:
    other = ModelConfig("p", ModelRef("random:qwen3"), ModelRef(str(folder)))
    refused(other, "own was trained for another target", "k_norm")


def test_ids_that_the_target_lacks_are_refused(tmp_path: Path) -> None:
    save_layers(layers_of("llama"), torch.tensor([3, 9999]), tmp_path, "toy")
    refused(pair_config(tmp_path), "9999", str(toys.VOCAB))


@pytest.mark.parametrize("broken", [b"", b"nothing of the kind"])
def test_a_damaged_file_is_one_sentence(folder: Path, broken: bytes) -> None:
    (folder / "model.safetensors").write_bytes(broken)
    refused(pair_config(folder), "own cannot be read", "model.safetensors")


@pytest.mark.parametrize(
    "ids", [torch.tensor([-5, 3]), torch.tensor([3, 3]), torch.tensor([[3]]), torch.tensor([])]
)
def test_ids_that_are_none_are_one_sentence(folder: Path, ids: Tensor) -> None:
    from safetensors.torch import load_file, save_file

    parts: dict[str, Tensor] = load_file(folder / "model.safetensors")
    save_file(parts | {"draft_ids": ids}, folder / "model.safetensors")
    refused(pair_config(folder), "draft_ids")


def test_a_file_without_ids_or_layers_is_one_sentence(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    whole: dict[str, Tensor] = load_file(folder / "model.safetensors")
    save_file({n: p for n, p in whole.items() if n != "draft_ids"}, folder / "model.safetensors")
    refused(pair_config(folder), "draft_ids")
    save_file({"draft_ids": whole["draft_ids"]}, folder / "model.safetensors")
    refused(pair_config(folder), "cannot be read")


def test_ranks_that_share_the_target_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    target, draft, _ = describe_pair(pair_config(folder), with_draft=True)
    with pytest.raises(FlybenchError) as caught:
        check_ranks(EngineConfig(tp=2), target, draft)
    toys.assert_one_sentence(caught.value, "engine.tp=2", str(folder))


def test_the_config_says_for_whom(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    assert (config["target"], config["num_hidden_layers"]) == ("toy", 2)
