"""Random models depend on their recipe alone; bytes survive the tokenizer."""

from __future__ import annotations

import random
import unicodedata

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from flybench.core.errors import FlybenchError
from flybench.engine.loading.random_models import SPECIAL, random_model
from tests.helpers.toys import assert_one_sentence


def weights(recipe: str) -> torch.Tensor:
    return torch.cat([weight.flatten() for weight in random_model(recipe).parameters()])


def test_equal_seeds_give_equal_weights_and_others_do_not(arch: str) -> None:
    assert torch.equal(weights(f"{arch}:7"), weights(f"{arch}:7"))
    assert not torch.equal(weights(f"{arch}:7"), weights(f"{arch}:8"))


def test_no_seed_is_seed_zero() -> None:
    assert torch.equal(weights("llama"), weights("llama:0"))
    assert torch.equal(weights("gemma3"), weights("gemma3_text"))


def test_weights_depend_on_no_state_and_change_none() -> None:
    torch.manual_seed(1)
    first = weights("llama:3")
    drawn = torch.rand(3)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(3), drawn)
    assert torch.equal(weights("llama:3"), first)


def test_models_are_ready_to_decode(arch: str, tokenizer: PreTrainedTokenizerFast) -> None:
    model = random_model(arch)
    assert not model.training
    assert model.dtype == torch.float32
    assert model.config.vocab_size == len(tokenizer)
    assert model.config.eos_token_id == tokenizer.eos_token_id


@pytest.mark.parametrize(
    ("recipe", "parts"),
    [
        ("gpt", ("random:gpt ", "llama, qwen3")),
        ("lama", ("random:lama ", "did you mean llama")),
        ("llama:x", ("random:llama:x ", "ARCH:SEED")),
        ("llama:-1", ("random:llama:-1 ", "ARCH:SEED")),
        ("", ("random: ", "ARCH:SEED")),
        ("llama:²", ("random:llama:²", "ARCH:SEED")),
    ],
)
def test_unknown_recipes_are_refused(recipe: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(FlybenchError) as caught:
        random_model(recipe)
    assert_one_sentence(caught.value, *parts)


def texts() -> list[str]:
    rng = random.Random(5)
    planes = [(0, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)]
    drawn = [
        "".join(chr(rng.randint(*rng.choice(planes))) for _ in range(rng.randint(0, 40)))
        for _ in range(300)
    ]
    return [
        *drawn,
        "",
        " ",
        "  two  spaces ",
        "\x00\t\r\n",
        unicodedata.normalize("NFD", "é"),
        "👩‍🚀",
    ]


def test_any_text_survives_the_tokenizer(tokenizer: PreTrainedTokenizerFast) -> None:
    for text in texts():
        ids = tokenizer.encode(text)
        assert len(ids) == len(text.encode())
        assert all(token < 256 for token in ids)
        assert tokenizer.decode(ids, skip_special_tokens=False) == text


def test_special_tokens_are_one_id_each(tokenizer: PreTrainedTokenizerFast) -> None:
    assert tokenizer.encode("".join(SPECIAL)) == list(range(256, 261))
    assert tokenizer.decode([97, *range(256, 261)], skip_special_tokens=False).endswith(
        "".join(SPECIAL)
    )
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (256, 257)


MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi ✓"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "Bye"},
]


def test_chat_template_yields_exactly_one_bos(tokenizer: PreTrainedTokenizerFast) -> None:
    for count in range(1, len(MESSAGES) + 1):
        text = tokenizer.apply_chat_template(
            MESSAGES[:count], add_generation_prompt=True, tokenize=False
        )
        ids = tokenizer.encode(text)
        assert ids.count(tokenizer.bos_token_id) == 1
        assert ids[0] == tokenizer.bos_token_id
        assert ids == tokenizer.encode(text, add_special_tokens=False)


def test_chat_template_spells_roles_and_ends(tokenizer: PreTrainedTokenizerFast) -> None:
    def render(generation: bool) -> str:
        return str(
            tokenizer.apply_chat_template(
                MESSAGES, add_generation_prompt=generation, tokenize=False
            )
        )

    expected = (
        "<|bos|><|system|>Be brief.<|end|><|user|>Hi ✓<|end|>"
        "<|assistant|>Hello<|end|><|user|>Bye<|end|>"
    )
    assert render(False) == expected
    assert render(True) == expected + "<|assistant|>"
