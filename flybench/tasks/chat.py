"""Conversion of messages to token ids and back: the chat template, and exactly one BOS."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from flybench.core.errors import FlybenchError
from flybench.core.samples import Message


class Chat:
    """A tokenizer with the template of one run.

    `template` is `auto` (the tokenizer's own), `none` (plain text, answers after a space, turns
    after an empty line) or the path of a Jinja file.

    Raises:
        FlybenchError: there is no template to apply, or its file cannot be read.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, template: str) -> None:
        self._tokenizer = tokenizer
        self._template = None if template in ("auto", "none") else _read(template)
        self._plain = template == "none"
        if not self._plain and not (self._template or tokenizer.chat_template):
            raise FlybenchError(
                "The tokenizer has no chat template: set task.chat_template=none for a base model, "
                "or to the path of a Jinja template."
            )

    def render(self, messages: Sequence[Message]) -> str:
        """Return the prompt as text, up to the start of the answer, or to its continuation if the
        last message is the assistant's."""
        if self._plain:
            return _plain(messages)
        assistant_prefix = messages[-1]["role"] == "assistant"
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    list(messages),
                    chat_template=self._template,
                    add_generation_prompt=not assistant_prefix,
                    continue_final_message=assistant_prefix,
                    tokenize=False,
                )
            )
        except Exception as error:  # a template is code and may raise anything
            raise FlybenchError(
                f"The chat template fails ({type(error).__name__}: {error}): correct it, or set "
                "task.chat_template=none."
            ) from error

    @property
    def identity(self) -> str:
        """Text of the template, or `none`; it decides how messages are rendered."""
        return "none" if self._plain else str(self._template or self._tokenizer.chat_template)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a rendered prompt, with one BOS if the model expects one.

        Raises:
            FlybenchError: the template and the tokenizer both wrote a BOS.
        """
        ids = list(self._tokenizer(text, add_special_tokens=False)["input_ids"])
        bos = self._tokenizer.bos_token_id
        if bos is None or not ids:
            return ids
        expected = self._tokenizer("", add_special_tokens=True)["input_ids"][:1] == [bos]
        if expected and ids[0] != bos:
            ids = [bos, *ids]
        if ids[:2] == [bos, bos]:
            raise FlybenchError(
                "The rendered prompt starts with two BOS tokens: remove one from the chat template."
            )
        return ids

    def detokenize(self, ids: Sequence[int]) -> str:
        """Return the text of ids with special tokens; stop strings are matched against it."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    def answer_text(self, ids: Sequence[int], stop: Sequence[str]) -> str:
        """Return the text of an answer: without special tokens, truncated before the first stop
        string."""
        text = self.detokenize(ids)
        ends = [place for place in map(text.find, stop) if place >= 0]
        if ends:
            return text[: min(ends)]
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))


def _plain(messages: Sequence[Message]) -> str:
    """Render without a template; the beginning of an answer is separated from the question by at
    least one space."""
    *earlier, last = messages
    lead, gap = {"assistant": " "}, {"system": "\n\n", "assistant": "\n\n"}
    text = "".join(lead.get(m["role"], "") + m["content"] + gap.get(m["role"], "") for m in earlier)
    apart = text and not (text[-1].isspace() or last["content"][:1].isspace())
    return text + (" " if apart and last["role"] == "assistant" else "") + last["content"]


def _read(template: str) -> str:
    path = Path(template).expanduser()
    if not path.is_file():
        raise FlybenchError(
            f"task.chat_template={template} is neither auto, none nor a file: check the path."
        )
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeError as error:
        raise FlybenchError(
            f"task.chat_template={template} is not UTF-8 text: save it in UTF-8."
        ) from error
