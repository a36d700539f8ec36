"""The one-time conversion of GGUF."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch

from flybench.config import EngineConfig, ModelConfig, ModelRef
from flybench.core.errors import FlybenchError
from flybench.engine.loading import conversion
from flybench.engine.loading.cache import file_sha256
from flybench.engine.loading.description import describe, describe_pair
from flybench.engine.loading.load import load_pair
from flybench.engine.loading.random_models import byte_tokenizer
from tests.helpers import toys

pytestmark = pytest.mark.usefixtures("cache")


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


@pytest.mark.usefixtures("log_on_stderr")
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
    assert "Converting tiny.gguf; later runs use the cached copy" in capfd.readouterr().err
    monkeypatch.setattr(conversion, "_convert", lambda *args: pytest.fail("converted again"))
    describe(ModelRef(str(tmp_path / "tiny.gguf")))


# Transformers gives a GGUF vocabulary an <|endoftext|> that it may lack (Llama 3's does), which
# `shared_vocab_size` would take for an id without a row in the model.
def test_a_gguf_vocabulary_without_endoftext_is_usable(tmp_path: Path) -> None:
    write_gguf(tmp_path / "tiny.gguf", extra=())
    config = ModelConfig("tiny", ModelRef(str(tmp_path / "tiny.gguf")))
    assert describe_pair(config, with_draft=False)[2] == toys.VOCAB


def test_a_header_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, reader = [], gguf.GGUFReader

    def counted(path: str) -> Any:
        parsed.append(path)
        return reader(path)

    monkeypatch.setattr(gguf, "GGUFReader", counted)
    write_gguf(tmp_path / "tiny.gguf")
    conversion.converted(tmp_path / "tiny.gguf")
    assert len(parsed) == 1
    assert gguf.GGUFReader is counted


def fake_conversion(monkeypatch: pytest.MonkeyPatch, convert: Any) -> None:
    monkeypatch.setattr(conversion, "_convert", convert)


def test_a_crash_in_the_middle_leaves_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")

    def crash(file: Path, folder: Path) -> None:
        (folder / "config.json").write_text("{}")
        raise MemoryError

    fake_conversion(monkeypatch, crash)
    with pytest.raises(FlybenchError, match="cannot be converted"):
        conversion.converted(tmp_path / "m.gguf")
    assert list((cache / "models").iterdir()) == []

    fake_conversion(monkeypatch, lambda file, folder: (folder / "config.json").write_text("{}"))
    folder = conversion.converted(tmp_path / "m.gguf")
    assert [file.name for file in folder.iterdir()] == ["config.json"]


def test_what_a_kill_left_is_removed_a_day_later(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")
    for name, age_s in (("old", 25 * 3600), ("new", 3600)):
        left = cache / "models" / f".partial-{name}"
        left.mkdir(parents=True)
        os.utime(left, (time.time() - age_s,) * 2)
    fake_conversion(monkeypatch, lambda file, folder: None)
    conversion.converted(tmp_path / "m.gguf")
    assert [left.name for left in cache.glob("models/.partial-*")] == [".partial-new"]


def test_an_interrupt_in_the_middle_leaves_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")

    def interrupt(file: Path, folder: Path) -> None:
        (folder / "config.json").write_text("{}")
        raise KeyboardInterrupt

    fake_conversion(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        conversion.converted(tmp_path / "m.gguf")
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
        folder = conversion.converted(tmp_path / "m.gguf")
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
        folders.append(conversion.converted(tmp_path / "m.gguf"))
        assert (folders[-1] / "c").read_bytes() == content
    assert folders[0] != folders[1]


def test_the_copy_is_readable_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")
    fake_conversion(monkeypatch, lambda file, folder: None)
    assert conversion.converted(tmp_path / "m.gguf").stat().st_mode & 0o777 == 0o755


def test_a_new_form_of_the_copy_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"x")
    fake_conversion(monkeypatch, lambda file, folder: None)
    first = conversion.converted(tmp_path / "m.gguf")
    monkeypatch.setattr(conversion, "CONVERSION", conversion.CONVERSION + 1)
    assert conversion.converted(tmp_path / "m.gguf") != first
