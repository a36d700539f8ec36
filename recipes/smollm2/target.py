"""SmolLM2-135M-Instruct for the scripts of this recipe."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from flybench.tasks.chat import Chat

NAME = "SmolLM2-135M-Instruct"
# The maximum length of prompts, and the length of all few-shot prompts; texts of equal length can
# share a batch.
LONGEST_PROMPT, SHOWN = 160, 448
ANSWER = 256


class Target:
    """The model with its tokenizer."""

    def __init__(self, folder: Path) -> None:
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = torch.bfloat16 if self.device == "cuda" else torch.float32
        model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
        self.model: PreTrainedModel = model.to(self.device).eval().requires_grad_(False)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        self.chat = Chat(tokenizer, "auto")
        self.ends = [int(tokenizer.eos_token_id)]

    def asked(self, *turns: str) -> list[int]:
        """Return the ids of alternating turns that start and end with the user's."""
        roles = itertools.cycle(("user", "assistant"))
        messages = [{"role": r, "content": t} for r, t in zip(roles, turns, strict=False)]
        return self.chat.encode(self.chat.render(messages))

    def opened(self, opening: str) -> list[int]:
        """Return the ids of an unfinished user turn."""
        whole = self.chat.render([{"role": "user", "content": "@"}])
        return self.chat.encode(whole[: whole.index("@")] + opening)
