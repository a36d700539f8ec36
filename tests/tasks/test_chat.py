"""Rendering messages: templates, one BOS, text back from ids."""

from pathlib import Path

import pytest

from flybench.core.errors import FlybenchError
from flybench.engine.loading.random_models import byte_tokenizer
from flybench.tasks.chat import Chat

HELLO = [{"role": "user", "content": "Hello"}]
DIALOGUE = [*HELLO, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Bye"}]


def test_template_writes_exactly_one_bos() -> None:
    tokenizer = byte_tokenizer()
    chat = Chat(tokenizer, "auto")
    ids = chat.encode(chat.render(DIALOGUE))
    assert ids.count(tokenizer.bos_token_id) == 1
    assert ids[0] == tokenizer.bos_token_id


def test_double_bos_is_refused() -> None:
    chat = Chat(byte_tokenizer(), "auto")
    with pytest.raises(FlybenchError, match="two BOS"):
        chat.encode("<|bos|><|bos|>Hello")


def test_plain_text_parts_its_turns() -> None:
    assert Chat(byte_tokenizer(), "none").render(DIALOGUE) == "Hello Hi.\n\nBye"


def test_an_answer_that_was_begun_goes_on() -> None:
    assistant_prefix = [*HELLO, {"role": "assistant", "content": "Hello, my"}]
    assert Chat(byte_tokenizer(), "none").render(assistant_prefix) == "Hello Hello, my"
    parted = [HELLO[0] | {"content": "Hello\n"}, assistant_prefix[1]]
    assert Chat(byte_tokenizer(), "none").render(parted) == "Hello\nHello, my"
    chat = Chat(byte_tokenizer(), "auto")
    assert chat.render(assistant_prefix) == chat.render(HELLO) + "Hello, my"


def test_template_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.jinja"
    file.write_text("{% for m in messages %}[{{ m['content'] }}]{% endfor %}")
    assert Chat(byte_tokenizer(), str(file)).render(HELLO) == "[Hello]"


def test_missing_template_and_missing_file() -> None:
    tokenizer = byte_tokenizer()
    with pytest.raises(FlybenchError, match="neither auto, none nor a file"):
        Chat(tokenizer, "nowhere.jinja")
    tokenizer.chat_template = None
    with pytest.raises(FlybenchError, match="chat_template=none"):
        Chat(tokenizer, "auto")


def test_answer_drops_special_tokens_and_what_follows_a_stop() -> None:
    tokenizer = byte_tokenizer()
    chat = Chat(tokenizer, "auto")
    ids = [*tokenizer("one two")["input_ids"], tokenizer.eos_token_id]
    assert chat.answer_text(ids, ()) == "one two"
    assert chat.answer_text(ids, (" t", "w")) == "one"
    assert chat.answer_text(ids, ("<|end|>",)) == "one two"
