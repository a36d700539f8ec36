"""One random head in every public format drafts the same, and every mismatch is one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from flybench.core.errors import FlybenchError
from flybench.draft.eagle3 import Eagle3Drafter
from flybench.engine.eagle3.checkpoint import find_head, load_head, save_head
from flybench.engine.eagle3.head import Eagle3Head
from flybench.engine.eagle3.model import HeadModel
from tests.helpers import toys
from tests.helpers.toys import TreeShape as Shape
from tests.helpers.toys import head_setup

TARGET = toys.model("llama")
TAPS = [1, 2, 3]  # indices of hidden states; other formats name the layer before
PROMPT = [3 * i % 250 for i in range(40)]
Tensors = dict[str, Tensor]


@pytest.fixture(scope="module")
def head() -> Eagle3Head:
    return toys.head("llama")


def flat(head: Eagle3Head) -> dict[str, Any]:
    layer = head.config.layer
    names = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads")
    sizes = {name: getattr(layer, name) for name in (*names, "head_dim", "rms_norm_eps")}
    return sizes | {
        "num_hidden_layers": 1,
        "vocab_size": head.config.vocab_size,
        "draft_vocab_size": head.config.draft_vocab_size,
        "max_position_embeddings": layer.max_position_embeddings,
        "rope_theta": 10000.0,
    }


def written(folder: Path, config: dict[str, Any], tensors: Tensors, binary: bool = False) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    if binary:
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        save_file({k: v.contiguous() for k, v in tensors.items()}, folder / "model.safetensors")
    return folder


def tensors(head: Eagle3Head, layer: str = "midlayer.", embeddings: bool = False) -> Tensors:
    found = {k.replace("layers.0.", layer): v.clone() for k, v in head.state_dict().items()}
    return {k: v for k, v in found.items() if embeddings or k != "embed_tokens.weight"}


def sglang(head: Eagle3Head, folder: Path) -> Path:
    taps = {"eagle_aux_hidden_state_layer_ids": [tap - 1 for tap in TAPS]}
    config = flat(head) | {"architectures": ["LlamaForCausalLMEagle3"], "eagle_config": taps}
    return written(folder, config, tensors(head))


def official(head: Eagle3Head, folder: Path) -> Path:
    """No architecture, no taps and no embeddings; the defaults are not this head's taps."""
    config = flat(head) | {"architectures": ["LlamaForCausalLM"]}
    return written(folder, config, tensors(head), binary=True)


def self_contained(head: Eagle3Head, folder: Path) -> Path:
    found = {f"model.{k}": v for k, v in tensors(head, embeddings=True).items()}
    taps = {"eagle_aux_hidden_state_layer_ids": [tap - 1 for tap in TAPS]}
    config = flat(head) | {"architectures": ["Eagle3LlamaForCausalLM"], "eagle_config": taps}
    return written(folder, config, found)


def speculators(head: Eagle3Head, folder: Path) -> Path:
    save_head(head, folder, "toy", 5)
    return folder


FORMATS = {"sglang": sglang, "self_contained": self_contained, "speculators": speculators}


def drafts(head: Eagle3Head, taps: Tensor) -> list[list[int]]:
    found = []
    for shape in (Shape(6), Shape(14, 3, 4)):
        drafter = Eagle3Drafter(
            head_setup(HeadModel(head, 100, captured=False), shape), **shape.settings
        )
        drafter.start(PROMPT, taps, None)
        found.append(drafter.propose(PROMPT, shape.nodes).tokens.tolist())
    return found


@pytest.fixture(scope="module")
def taps(head: Eagle3Head) -> Tensor:
    found = toys.eager_target("llama", head.config.taps).prefill(PROMPT[:-1])
    assert found is not None
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_drafts_the_same(
    name: str, head: Eagle3Head, taps: Tensor, tmp_path: Path
) -> None:
    source = find_head(str(FORMATS[name](head, tmp_path / "head")))
    assert set(source.files) == {"config.json", "model.safetensors"}
    loaded = load_head(source.folder, TARGET)
    assert loaded.config.taps == tuple(TAPS)
    assert loaded.config.own_embeddings == (name == "self_contained")
    assert drafts(loaded, taps) == drafts(head, taps)


@pytest.mark.parametrize("name", FORMATS)
def test_texts_behind_a_heads_own_limit_are_told(
    name: str, head: Eagle3Head, tmp_path: Path
) -> None:
    limit = head.config.layer.max_position_embeddings
    source = find_head(str(FORMATS[name](head, tmp_path / "head")))
    assert source.context_limit == limit
    assert source.caution(limit) is None
    assert f"{limit + 1:,}" in (source.caution(limit + 1) or "")


def test_the_official_format_has_default_taps(
    head: Eagle3Head, taps: Tensor, tmp_path: Path
) -> None:
    loaded = load_head(official(head, tmp_path / "head"), TARGET)
    assert loaded.config.taps == (2, 2, 1)
    assert drafts(loaded, taps) == drafts(head, taps)


def test_what_is_saved_holds_every_option(tmp_path: Path) -> None:
    options = {"norm_before_residual": True, "norm_output": True, "fc_norm": True, "qk_norm": True}
    made = toys.head("llama", **options)
    save_head(made, tmp_path / "head", "toy", 5)
    config = load_head(tmp_path / "head", TARGET).config
    assert {name: getattr(config, name) for name in options} == options


def test_a_head_without_a_vocabulary_of_its_own_scores_with_the_target(tmp_path: Path) -> None:
    made = toys.head("llama", draft_vocab_size=None)
    config = flat(made) | {"architectures": ["LlamaForCausalLMEagle3"]}
    found = {k: v for k, v in tensors(made).items() if k not in ("lm_head.weight", "d2t", "t2d")}
    loaded = load_head(written(tmp_path / "head", config, found), TARGET)
    assert loaded.lm_head.weight is TARGET.get_output_embeddings().weight


Change = Callable[[dict[str, Any], Tensors], None]


def narrow(config: dict[str, Any], found: Tensors) -> None:
    found["fc.weight"] = found["fc.weight"][:, :-3]


def without(key: str) -> Change:
    def change(config: dict[str, Any], found: Tensors) -> None:
        del found[key]

    return change


def beyond(config: dict[str, Any], found: Tensors) -> None:
    found["d2t"][-1] += 1000


def unmarked(config: dict[str, Any], found: Tensors) -> None:
    found["t2d"][found["t2d"].nonzero()[0, 0]] = False


MISTAKES: dict[str, tuple[Change, str]] = {
    "another target": (narrow, "3 · 64 = 192"),
    "no layer": (without("midlayer.mlp.up_proj.weight"), "lacks 1 tensors"),
    "two layers": (lambda c, t: t.update({"layers.1.x": torch.zeros(1)}), "more than one layer"),
    "strange": (lambda c, t: t.update({"gate.weight": torch.zeros(1)}), "such as gate.weight"),
    "no map": (without("d2t"), "no d2t"),
    "map beyond": (beyond, "d2t of head maps"),
    "maps differ": (unmarked, "t2d of head"),
    "four taps": (
        lambda c, t: c.update(eagle_config={"eagle_aux_hidden_state_layer_ids": [1, 2, 3, 4]}),
        "reads 4 hidden states",
    ),
    "sizes": (lambda c, t: c.update(intermediate_size=40), "does not match its weights"),
    "no head": (lambda c, t: c.update(architectures=[], num_hidden_layers=2), "not an EAGLE-3"),
    "no embeddings": (lambda c, t: c.update(hidden_size=32), "no embeddings"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_head_that_does_not_fit_is_one_sentence(
    name: str, head: Eagle3Head, tmp_path: Path
) -> None:
    change, said = MISTAKES[name]
    config = flat(head) | {"architectures": ["LlamaForCausalLMEagle3"]}
    found = tensors(head)
    change(config, found)
    with pytest.raises(FlybenchError) as caught:
        load_head(written(tmp_path / "head", config, found), TARGET)
    toys.assert_one_sentence(caught.value, said)


def test_files_that_cannot_be_read_are_named(head: Eagle3Head, tmp_path: Path) -> None:
    folder = sglang(head, tmp_path / "head")
    (folder / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(FlybenchError) as caught:
        load_head(folder, TARGET)
    toys.assert_one_sentence(caught.value, "model.safetensors cannot be read")
    (folder / "model.safetensors").unlink()
    with pytest.raises(FlybenchError) as caught:
        load_head(folder, TARGET)
    toys.assert_one_sentence(caught.value, "has no weights")
    (folder / "config.json").write_text("[]")
    with pytest.raises(FlybenchError) as caught:
        load_head(folder, TARGET)
    toys.assert_one_sentence(caught.value, "no config.json that can be read")
    with pytest.raises(FlybenchError) as caught:
        find_head("random:llama")
    toys.assert_one_sentence(caught.value, "model.eagle3=random:llama")
