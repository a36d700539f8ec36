"""Descriptions without weights, then a loaded pair; refusals before anything is loaded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from flybench.config import EngineConfig, ModelConfig, ModelRef
from flybench.core.errors import FlybenchError
from flybench.engine.loading import placement
from flybench.engine.loading.description import describe, describe_pair
from flybench.engine.loading.load import load_pair
from flybench.engine.loading.placement import resolve_device, resolve_dtype
from flybench.engine.loading.random_models import byte_tokenizer
from tests.helpers import toys

PAIR = ModelConfig("pair", ModelRef("random:llama"), ModelRef("random:llama:1"))
CPU = EngineConfig(device="cpu")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """random:llama as a folder in Hugging Face format."""
    folder = tmp_path_factory.mktemp("model")
    toys.model("llama").save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(saved, tmp_path / "model"))


def rewrite(file: Path, **values: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def test_description_of_a_random_model() -> None:
    info = describe(ModelRef("random:qwen3:4"))
    assert info.files == {"random": "qwen3:4"}
    assert (info.context_limit, info.vocab_size, info.eos_ids) == (2048, 261, {257})
    assert info.stored_dtype == torch.float32
    assert len(info.tokenizer) == 261


def test_description_of_a_folder_reads_no_weights(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        AutoModelForCausalLM, "from_pretrained", lambda *args, **kwargs: pytest.fail("loaded")
    )
    info = describe(ModelRef(str(saved)))
    assert {"model.safetensors", "config.json", "generation_config.json"} <= set(info.files)
    assert (info.context_limit, info.vocab_size, info.eos_ids) == (2048, 261, {257})
    assert info.stored_dtype == torch.float32


def test_every_end_of_sequence_id_counts(folder: Path) -> None:
    rewrite(folder / "generation_config.json", eos_token_id=[3, 5])
    assert describe(ModelRef(str(folder))).eos_ids == {3, 5, 257}
    rewrite(folder / "generation_config.json", eos_token_id=9)
    assert describe(ModelRef(str(folder))).eos_ids == {9, 257}


def test_without_a_generation_config_the_model_config_decides(folder: Path) -> None:
    (folder / "generation_config.json").unlink()
    rewrite(folder / "config.json", eos_token_id=[7, 8])
    assert describe(ModelRef(str(folder))).eos_ids == {7, 8, 257}


def test_a_model_without_any_end_is_refused(folder: Path) -> None:
    rewrite(folder / "config.json", eos_token_id=None)
    rewrite(folder / "generation_config.json", eos_token_id=None)
    rewrite(folder / "tokenizer_config.json", eos_token=None)
    with pytest.raises(FlybenchError) as caught:
        describe(ModelRef(str(folder)))
    toys.assert_one_sentence(caught.value, str(folder), "generation_config.json")


def test_a_pair_shares_its_vocabulary() -> None:
    target, draft, vocab_size = describe_pair(PAIR, with_draft=True)
    assert draft is not None
    assert (target.ref, draft.ref) == (PAIR.target, PAIR.draft)
    assert vocab_size == 261


def test_a_method_without_a_draft_model_needs_none_described() -> None:
    assert describe_pair(PAIR, with_draft=False)[1] is None
    alone = ModelConfig("alone", ModelRef("random:llama"))
    assert describe_pair(alone, with_draft=True)[1] is None


def test_a_pair_with_other_tokens_is_refused(folder: Path) -> None:
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens(["extra"])
    tokenizer.save_pretrained(folder)
    pair = ModelConfig("pair", ModelRef("random:llama"), ModelRef(str(folder)))
    with pytest.raises(FlybenchError) as caught:
        describe_pair(pair, with_draft=True)
    toys.assert_one_sentence(caught.value, "token id 261")


def test_padded_rows_are_never_emitted(folder: Path) -> None:
    rewrite(folder / "config.json", vocab_size=300)
    pair = ModelConfig("pair", ModelRef("random:llama"), ModelRef(str(folder)))
    assert describe_pair(pair, with_draft=True)[2] == 261


def test_a_loaded_pair_has_the_described_weights() -> None:
    target, draft, vocab_size = describe_pair(PAIR, with_draft=True)
    pair = load_pair(target, draft, vocab_size, CPU, 512)
    assert pair.draft is not None
    assert pair.dtype == torch.float32
    ids = torch.arange(20)
    for loaded, recipe in ((pair.target._model, "llama"), (pair.draft, "llama:1")):
        expected = toys.eager(recipe).extend(ids, rows=20)
        assert torch.equal(loaded.extend(ids, rows=20), expected)


def test_a_folder_loads_the_weights_it_holds(saved: Path) -> None:
    target, _, vocab_size = describe_pair(ModelConfig("m", ModelRef(str(saved))), False)
    pair = load_pair(target, None, vocab_size, CPU, 512)
    ids = torch.arange(20)
    expected = toys.eager("llama").extend(ids, rows=20)
    assert torch.allclose(pair.target._model.extend(ids, rows=20), expected, atol=1e-5)


def test_no_draft_is_loaded_without_need() -> None:
    target, draft, vocab_size = describe_pair(PAIR, with_draft=False)
    pair = load_pair(target, draft, vocab_size, CPU, 512)
    assert pair.draft is None
    assert pair.draft_footprint is None


@pytest.mark.parametrize("skip", [None, (1, 3)])
def test_a_draft_of_the_target_itself_shares_its_weights(skip: tuple[int, int] | None) -> None:
    config = ModelConfig(
        "self", ModelRef("random:llama"), ModelRef("random:llama", skip_layers=skip)
    )
    target, draft, vocab_size = describe_pair(config, with_draft=True)
    pair = load_pair(target, draft, vocab_size, CPU, 512)
    assert pair.draft is not None
    ours, theirs = pair.draft._model, pair.target._model._model
    assert ours is not theirs, "modules of their own, one set of weights"
    assert (pair.draft_footprint == pair.target_footprint) == (skip is None)
    addresses = {weight.data_ptr() for weight in theirs.parameters()}
    assert all(weight.data_ptr() in addresses for weight in ours.parameters())
    assert len(ours.model.layers) == (4 if skip is None else 2)
    assert len(theirs.model.layers) == 4


def test_layers_are_skipped_in_a_model_of_another_seed_too() -> None:
    draft_ref = ModelRef("random:llama:1", skip_layers=(1, 2))
    target, draft, size = describe_pair(ModelConfig("p", ModelRef("random:llama"), draft_ref), True)
    pair = load_pair(target, draft, size, CPU, 512)
    assert pair.draft is not None
    assert len(pair.draft._model.model.layers) == 3


def test_layers_that_do_not_fit_are_refused_before_loading() -> None:
    with pytest.raises(FlybenchError) as caught:
        describe(ModelRef("random:llama", skip_layers=(2, 4)))
    toys.assert_one_sentence(caught.value, "[2, 4]", "4 layers")


def test_skipped_layers_of_a_target_are_obeyed_or_refused() -> None:
    try:
        config = ModelConfig("m", ModelRef("random:llama", skip_layers=(1, 3)))
        target, _, vocab_size = describe_pair(config, with_draft=False)
        pair = load_pair(target, None, vocab_size, CPU, 512)
    except FlybenchError as error:
        toys.assert_one_sentence(error, "skip_layers")
    else:
        assert len(pair.target._model._model.model.layers) == 2


def test_dtype_follows_the_model_then_the_engine_then_the_device() -> None:
    def dtype(model: str, engine: str) -> torch.dtype:
        ref = ModelRef("random:llama", dtype=model)
        target, _, size = describe_pair(ModelConfig("m", ref), with_draft=False)
        return load_pair(target, None, size, EngineConfig(dtype=engine, device="cpu"), 512).dtype

    assert dtype("auto", "auto") == torch.float32
    assert dtype("auto", "bf16") == torch.bfloat16
    assert dtype("fp32", "bf16") == torch.float32


def test_low_precision_still_hands_out_fp32_logits() -> None:
    target, _, size = describe_pair(ModelConfig("m", ModelRef("random:llama", dtype="bf16")), False)
    pair = load_pair(target, None, size, CPU, 512)
    assert pair.target._model.extend(torch.arange(3), rows=1).dtype == torch.float32


def test_unknown_dtypes_are_refused_with_the_closest_one() -> None:
    for build in (
        lambda: ModelRef("random:llama", dtype="bf61"),
        lambda: EngineConfig(dtype="bf61"),
    ):
        with pytest.raises(FlybenchError) as caught:
            build()
        toys.assert_one_sentence(caught.value, "dtype=bf61", "auto, fp32, bf16, fp16", "mean bf16")


@pytest.mark.parametrize("name", ["tpu", "cuda:99", "gpu:0", ""])
def test_unknown_devices_are_refused(name: str) -> None:
    with pytest.raises(FlybenchError) as caught:
        resolve_device(name)
    toys.assert_one_sentence(caught.value, repr(name), "use auto, cpu or cuda:N")


def test_a_type_that_the_processor_only_imitates_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    info = describe(ModelRef("random:llama"))
    monkeypatch.setattr(placement, "computes_natively", lambda dtype: dtype == torch.float16)
    half = EngineConfig(dtype="fp16", device="cpu")
    assert resolve_dtype(info, half) == torch.float16
    with pytest.raises(FlybenchError) as caught:
        resolve_dtype(info, EngineConfig(dtype="bf16", device="cpu"))
    toys.assert_one_sentence(caught.value, "bf16", "random:llama", "use engine.dtype=fp32")


def test_auto_and_cpu_are_devices() -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    expected = "cuda:0" if torch.cuda.is_available() else "cpu"
    assert resolve_device("auto") == torch.device(expected)


def test_a_model_may_set_a_device_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        placement, "resolve_device", lambda name: asked.append(name) or torch.device("cpu")
    )
    pair = ModelConfig("p", ModelRef("random:llama"), ModelRef("random:llama:1", device="cpu"))
    target, draft, size = describe_pair(pair, with_draft=True)
    load_pair(target, draft, size, EngineConfig(device="cuda:1"), 512)
    assert set(asked) == {"cuda:1", "cpu"}


DAMAGES = {
    "config is no JSON": ("config.json", "{nope"),
    "unknown model type": ("config.json", '{"model_type": "unheard-of"}'),
    "tokenizer is no JSON": ("tokenizer.json", "{nope"),
}


@pytest.mark.parametrize(("file", "content"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_folder_is_one_sentence(folder: Path, file: str, content: str) -> None:
    (folder / file).write_text(content)
    with pytest.raises(FlybenchError) as caught:
        describe(ModelRef(str(folder)))
    toys.assert_one_sentence(caught.value, str(folder))


def test_a_model_with_its_own_code_names_the_setting(folder: Path) -> None:
    code = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}
    (folder / "config.json").write_text(json.dumps({"model_type": "own", "auto_map": code}))
    with pytest.raises(FlybenchError) as caught:
        describe(ModelRef(str(folder)))
    toys.assert_one_sentence(caught.value, str(folder), "trust_remote_code=true")


def test_a_folder_without_weights_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(FlybenchError) as caught:
        target, _, size = describe_pair(ModelConfig("m", ModelRef(str(folder))), with_draft=False)
        load_pair(target, None, size, CPU, 512)
    toys.assert_one_sentence(caught.value, str(folder))


def test_missing_weights_are_refused_rather_than_made_up(folder: Path) -> None:
    rewrite(folder / "config.json", num_hidden_layers=6)
    target, draft, vocab = describe_pair(ModelConfig("m", ModelRef(str(folder))), False)
    with pytest.raises(FlybenchError, match="lacks"):
        load_pair(target, draft, vocab, EngineConfig(), 512)
