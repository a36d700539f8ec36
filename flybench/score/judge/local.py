"""A local judge: any model that flybench can run, decoded greedily without a drafter.

It is loaded before the first question, after the evaluated models have been unloaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

import torch

from flybench.config import EngineConfig, JudgeConfig, ModelRef
from flybench.core.errors import FlybenchError
from flybench.decode import AR, Decoder, StopRule, build_decoder
from flybench.engine.loading.description import ModelInfo, describe
from flybench.engine.loading.load import load_pair
from flybench.engine.loading.pairing import shared_vocab_size
from flybench.engine.loading.placement import (
    choose_engine,
    placed,
    resolve_device,
    resolve_dtype,
    use_threads,
)
from flybench.sampling import Sampling
from flybench.score.judge.base import CallFailed, Messages, Reply
from flybench.tasks.chat import Chat


class LocalJudge:
    """A judge that decodes `config.model`, one question after another."""

    def __init__(self, config: JudgeConfig) -> None:
        self._config = config
        self._decoder: Decoder | None = None
        self._reach = 0

    @property
    def identity(self) -> Mapping[str, Any]:
        engine = self._engine
        return {
            "kind": self._config.kind,
            "files": self._info.files,
            "template": self._chat.identity,
            "dtype": str(resolve_dtype(self._info, engine)),
            "engine": asdict(engine),
            "device": self._device.type,
            "max_new_tokens": self._config.max_new_tokens,
        }

    def check(self) -> None:
        _ = self.identity

    def prepare(self, asked: Sequence[Messages]) -> None:
        """Load the model, with room for the longest of the questions."""
        longest = max(len(self._encode(messages)) for messages in asked)
        reach = min(longest, self._info.context_limit) + self._config.max_new_tokens + 1
        if self._decoder is not None and reach <= self._reach:
            return
        self._decoder, self._reach = None, reach
        info = self._info
        use_threads(self._engine)
        vocab_size = shared_vocab_size(info.tokenizer, info.vocab_size)
        pair = load_pair(info, None, vocab_size, self._engine, reach)
        self._decoder = build_decoder(AR, pair.target, None, Sampling())

    def ask(self, messages: Messages) -> Reply:
        assert self._decoder is not None, "prepare is called before ask"
        ids, most = self._encode(messages), self._config.max_new_tokens
        limit = self._info.context_limit
        if len(ids) + most > limit:
            raise CallFailed(
                f"the question has {len(ids)} tokens and the verdict up to {most}: together more "
                f"than the context length of {limit}"
            )
        stop = StopRule(self._info.eos_ids, most, (), self._chat.detokenize)
        try:
            found = self._decoder.decode(ids, stop)
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise CallFailed(f"{type(error).__name__}: {error}".splitlines()[0]) from None
        text = self._chat.answer_text(found.ids, ())
        return Reply(text, found.finish, len(ids), len(found.ids))

    def _encode(self, messages: Messages) -> list[int]:
        return self._chat.encode(self._chat.render(messages))

    @cached_property
    def _info(self) -> ModelInfo:
        path = str(self._config.model)
        return describe(ModelRef(path, dtype=self._config.dtype, device=self._config.device))

    @cached_property
    def _chat(self) -> Chat:
        if not self._info.tokenizer.chat_template:
            raise FlybenchError(
                f"judge.model={self._config.model} has no chat template, which a judge needs: "
                "choose a chat model."
            )
        return Chat(self._info.tokenizer, "auto")

    @cached_property
    def _engine(self) -> EngineConfig:
        return choose_engine(EngineConfig(), [self._info], self._device)[0]

    @property
    def _device(self) -> torch.device:
        """Device of the model, or of its first part."""
        return placed(self._info, EngineConfig()) or resolve_device("auto")
