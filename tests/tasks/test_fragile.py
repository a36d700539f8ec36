"""The fragile set: answers stand in their questions or follow from them, and one slip is wrong."""

from __future__ import annotations

import json
import re

import pytest

from flybench.config import TaskConfig
from flybench.tasks.fragile import GROUPS, ITEMS_PER_GROUP, READ, FragileTask, Item
from tests.helpers.answered import answered

TASK = FragileTask(TaskConfig("fragile", "fragile"))


def test_there_are_items_of_every_group_and_no_two_alike() -> None:
    prompts = TASK.prompts()
    assert len(prompts) == ITEMS_PER_GROUP * len(GROUPS) >= 200
    assert {prompt.category for prompt in TASK.prompts(len(GROUPS))} == set(GROUPS)
    assert len({prompt.messages[0]["content"] for prompt in prompts}) >= 0.95 * len(prompts)
    assert TASK.data_sha256 == FragileTask(TaskConfig("fragile", "fragile")).data_sha256


@pytest.mark.parametrize("sample", TASK._rows)
def test_the_answer_is_right_and_a_slip_is_wrong(sample: str) -> None:
    answer, rule = TASK._rows[sample]["answer"], TASK._rows[sample]["rule"]
    shown = answer.replace(" ", ", ") if rule == "colours" else answer
    assert TASK.score(answered(sample, f"It is {shown}")).correct == 1
    slip = {
        "number": str(int(answer) + 1) if rule == "number" else "",
        "exact": answer[:-1] + ("x" if answer[-1] != "x" else "y"),
        "colours": shown + ", " + "pink red blue green white black yellow orange purple",
        "json": answer.replace('"floors": ', '"floors": 1'),
    }[rule]
    assert TASK.score(answered(sample, f"It is {slip}")).correct == 0
    assert TASK.score(answered(sample, "")).correct == 0


def test_of_several_identifiers_the_last_is_the_answer() -> None:
    row = TASK._rows["identifiers-00"]
    answer, code = row["answer"], row["question"]
    other = next(name for name in re.findall(r"(\w+) = ", code) if name != answer)
    for text, right in (
        (f"Not {other}, but `{answer}`.", 1),
        (f"{answer}, or perhaps {other}", 0),
        (code.partition("Which")[0], 1),  # the code again ends with what it returns
        (f"{answer} is the variable.", 1),
        (f"{answer}_2", 0),
    ):
        assert TASK.score(answered("identifiers-00", text)).correct == right, text


@pytest.mark.parametrize(
    ("sample", "text", "read"),
    [
        ("digits-00", "Of 3 invoices, 1,204 euros.", "1,204"),
        ("copies-00", "I cannot.", None),
        ("negations-00", "The Red and the blue one.", "Red and the blue"),
        ("records-00", 'So: {"city": "Oslo"} it is', '{"city": "Oslo"}'),
        ("records-00", "[1]", None),
    ],
)
def test_what_was_read_stands_in_the_answer(sample: str, text: str, read: str | None) -> None:
    assert TASK.score(answered(sample, text)).extracted == read


def test_chains_come_out_as_they_are_told() -> None:
    for sample, row in TASK._rows.items():
        if sample.startswith("chains"):
            total, *changes = map(int, re.findall(r"\d+", row["question"]))
            signs = re.findall(r"put in|taken out", row["question"])
            for change, sign in zip(changes, signs, strict=True):
                total += change if sign == "put in" else -change
            assert str(total) == row["answer"]


@pytest.mark.parametrize("text", ["no braces", "{", '{"city": "Oslo"', "{" * 5000, "[1]"])
def test_what_is_no_json_is_wrong(text: str) -> None:
    assert TASK.score(answered("records-00", text)).correct == 0


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ({}, 1),
        ({"open": 1}, 0),
        ({"floors": 5.0}, 0),
        ({"floors": "5"}, 0),
    ],
)
def test_values_of_json_keep_their_type(change: dict[str, object], right: int) -> None:
    row = {"city": "Oslo", "code": "A10", "open": True, "floors": 5}
    item = Item("", "json", json.dumps(row))
    assert READ["json"](json.dumps(dict(reversed((row | change).items()))), item).right == right


def test_a_key_of_json_comes_once() -> None:
    item = Item("", "json", '{"open": true, "rooms": {}}')
    assert READ["json"]('{"rooms": {}, "open": true}', item).right
    assert not READ["json"]('{"rooms": [], "open": true}', item).right
    assert not READ["json"]('{"open":' + "[" * 900 + "]" * 900 + "}", item).right
    assert not READ["json"]('{"open": false, "open": true}', item).right


def test_json_may_stand_in_a_fence() -> None:
    wanted = json.dumps(json.loads(TASK._rows["records-00"]["answer"]), indent=2)
    assert TASK.score(answered("records-00", f"```json\n{wanted}\n```\nDone.")).correct == 1
