"""Small seeded random models and a byte tokenizer, for tests without a download.

`random:llama`, `random:qwen3` and `random:gemma3`, each with an optional seed: `random:llama:7`.
"""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from flybench.config.checks import suggestion
from flybench.core.errors import FlybenchError

SPECIAL = ("<|bos|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>")
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>"
    "{{ message['content'] }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SHAPE: dict[str, Any] = {
    "vocab_size": 256 + len(SPECIAL),
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 2048,
    # Tied embeddings would make an untrained model repeat its input.
    "tie_word_embeddings": False,
    # Wide enough that the argmax of a tiny model is not the same token everywhere.
    "initializer_range": 0.3,
}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen3": {},
    "gemma3_text": {"sliding_window": 32, "query_pre_attn_scalar": 16},
}
ALIASES = {"gemma3": "gemma3_text"}


def random_model(recipe: str) -> PreTrainedModel:
    """A model of `recipe` = ARCH[:SEED] with fp32 weights on the CPU.

    Raises:
        FlybenchError: the architecture is unknown, or the seed is not a number.
    """
    arch, _, seed = recipe.partition(":")
    arch = ALIASES.get(arch, arch)
    if arch not in ARCHITECTURES or (seed and not (seed.isdecimal() and len(seed) < 10)):
        names = (*ARCHITECTURES, *ALIASES)
        raise FlybenchError(
            f"random:{recipe} is not known: use random:ARCH or random:ARCH:SEED with ARCH one of "
            f"{', '.join(names)}{'' if arch in names else suggestion(arch, names)}, and SEED a "
            "whole number."
        )
    tokenizer = byte_tokenizer()
    config = AutoConfig.for_model(
        arch,
        **SHAPE,
        **ARCHITECTURES[arch],
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(seed or 0))
        model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    return model.eval()


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer with one token for each byte, five special ones, and a chat template."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({char: i for i, char in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(SPECIAL))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=SPECIAL[0],
        eos_token=SPECIAL[1],
        additional_special_tokens=list(SPECIAL[2:]),
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = TEMPLATE
    return fast
