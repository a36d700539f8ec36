"""The lm-eval model class for flybench's methods."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from tqdm import tqdm

from flybench.config import to_tree
from flybench.core.errors import FlybenchError
from flybench.core.samples import Generation, Message, Prompt
from flybench.decode import Decoder
from flybench.engine.loading.placement import engine_label, use_threads
from flybench.interop.lm_eval_model.requests import config_of, prompts_of
from flybench.records.jsonl import append_line, record_line
from flybench.run.generate import generate_sample, generate_turns
from flybench.run.runner import WARMUP_TOKENS
from flybench.run.session import Session
from flybench.run.setup import choose_models
from flybench.tasks.chat import Chat

log = logging.getLogger(__name__)

NAME = "flybench"


class FlybenchLM(LM):  # type: ignore[misc]
    """A pair and a method that answer lm-eval's requests, one after another.

    Weights are loaded at the first requests, which determine the maximum length. A failure ends the
    evaluation, as in lm-eval's other models; `--use_cache` keeps finished answers.

    Raises:
        FlybenchError: a setting is not allowed, or a model cannot be found.
    """

    def __init__(
        self,
        records: str | None = None,
        batch_size: int | str = 1,
        max_batch_size: int | None = None,
        device: str | None = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        if str(batch_size) != "1" and not str(batch_size).startswith("auto"):
            raise FlybenchError(
                f"--batch_size {batch_size} is not allowed: flybench decodes one stream, so use 1."
            )
        self._records = None if records is None else Path(records).expanduser()
        if self._records is not None and not self._records.parent.is_dir():
            raise FlybenchError(
                f"records={records} is in a folder that does not exist: create it first."
            )
        config = config_of(settings, device)
        use_threads(config.engine)
        self._setup = choose_models(config)
        self.tokenizer = self._setup.target.tokenizer
        self._session: tuple[int, Session] | None = None
        self._answers: list[Generation] = []

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Return the text of every answer, up to its first stop string."""
        prompts = list(prompts_of(requests, self._setup.config.sampling.rule()))
        if not prompts:
            return []
        decoder, method = self._decoder(prompts), self._setup.config.method
        texts = []
        bar = tqdm(prompts, desc=method.name, unit="answer", disable=disable_tqdm or None)
        for request, prompt in zip(requests, bar, strict=True):
            record = generate_sample(self._setup, method, decoder, prompt, 0)
            if self._records is not None:
                append_line(self._records, record_line(record))
            if record.error is not None:
                raise FlybenchError(
                    f"{prompt.sample_id} failed ({record.error}): fix the cause, and rerun the "
                    "command with --use_cache to keep finished answers."
                )
            (generation,) = record.turns
            self._answers.append(generation)
            texts.append(generation.text)
            self.cache_hook.add_partial("generate_until", request.args, generation.text)
        figures = self._figures()
        log.info(
            "%s: %.1f tokens/s of decoding, tau %.2f, %d answers",
            method.name,
            figures["tokens_per_second"],
            figures["tau_pooled"],
            figures["answers"],
        )
        return texts

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Not supported: a method changes decoding, not the likelihoods of the target."""
        raise FlybenchError(
            "flybench generates text and does not compute log-likelihoods: choose tasks whose "
            "output_type is generate_until, such as gsm8k_cot_llama."
        )

    loglikelihood_rolling = loglikelihood

    def apply_chat_template(
        self, chat_history: list[Message], add_generation_prompt: bool = True
    ) -> str:
        """Render a conversation; the role of the last message decides on a generation prompt."""
        return Chat(self.tokenizer, "auto").render(chat_history)

    def chat_template(self, chat_template: bool | str = False) -> str:
        """Return the text of the chat template, empty for none."""
        if isinstance(chat_template, str):
            raise FlybenchError(
                f"--apply_chat_template {chat_template} is not allowed: flybench applies the "
                "tokenizer's own template, so leave the name out."
            )
        return Chat(self.tokenizer, "auto").identity if chat_template else ""

    @property
    def tokenizer_name(self) -> str:
        """Key of the chat template in lm-eval's cache of prompts."""
        return self._setup.config.model.target.path.replace("/", "__")

    def get_model_info(self) -> dict[str, Any]:
        """Return the settings and the speed, which lm-eval adds to the `config` of its results."""
        config = self._setup.config
        settings = {name: to_tree(config)[name] for name in ("model", "method", "sampling")}
        label = engine_label(self._setup.engine, self._setup.infos)
        return {NAME: settings | {"engine": label} | self._figures()}

    def _figures(self) -> dict[str, float | int]:
        tokens = sum(len(each.ids) for each in self._answers)
        if not tokens:
            return {"answers": 0}
        return {
            "answers": len(self._answers),
            "tau_pooled": tokens / sum(len(each.rounds) for each in self._answers),
            "tokens_per_second": tokens / sum(each.decode_s for each in self._answers),
        }

    def _decoder(self, prompts: Sequence[Prompt]) -> Decoder:
        """Return the decoder of the method on warm models, with room for the longest prompt."""
        own, longest = self._setup, 0
        for prompt in prompts:
            tokens = len(own.chat.encode(own.chat.render(prompt.messages)))
            own.check_length(tokens, prompt)
            longest = max(longest, own.reach(prompt, tokens))
        if self._session is None or self._session[0] < longest:
            self._session = None  # frees the memory before it is allocated again
            self._session = longest, Session.of(own, longest)
        decoder = self._session[1].decoder(own.config.method, own.config.sampling.rule())
        for prompt in prompts[: own.config.warmup]:
            most = min(prompt.max_new_tokens, WARMUP_TOKENS)
            generate_turns(own, replace(prompt, max_new_tokens=most), decoder)
        return decoder
