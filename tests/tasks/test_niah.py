"""Needles: each value stands in the text once, and an answer must name all of them."""

from __future__ import annotations

import pytest

from flybench.config import TaskConfig
from flybench.core.errors import FlybenchError
from flybench.tasks.niah import SAMPLES, TOKENS_PER_WORD, VALUES, NiahTask, haystack
from tests.helpers import toys
from tests.helpers.answered import answered


@pytest.fixture(scope="module")
def task() -> NiahTask:
    return NiahTask(TaskConfig("niah_multivalue", "niah", length=1024))


def test_texts_hold_their_needles_and_their_length(task: NiahTask) -> None:
    prompts = task.prompts()
    assert len({prompt.messages[0]["content"] for prompt in prompts}) == SAMPLES
    for prompt, row in zip(prompts, task._rows.values(), strict=True):
        text = prompt.messages[0]["content"]
        assert [text.count(value) for value in row["values"]] == [1] * VALUES
        assert len(text.split()) * TOKENS_PER_WORD == pytest.approx(1024, rel=0.05)


def test_a_text_is_the_same_every_time_and_scattered() -> None:
    row = haystack(4096, 3)
    assert row == haystack(4096, 3)
    assert row != haystack(4096, 4)
    places = [row["text"].index(value) / len(row["text"]) for value in row["values"]]
    assert max(places) - min(places) > 0.05


@pytest.mark.parametrize(
    ("named", "correct", "recall"), [(4, 1.0, 1.0), (3, 0.0, 0.75), (0, 0.0, 0.0)]
)
def test_all_values_must_be_named(
    task: NiahTask, named: int, correct: float, recall: float
) -> None:
    sample = "niah_multivalue/1024/0"
    values = task._rows[sample]["values"]
    score = task.score(answered(sample, f"The codes: {', '.join(values[:named])}."))
    assert (score.correct, score.metrics["recall"]) == (correct, recall)


@pytest.mark.parametrize("form", ["{:,}", "**{}**"])
def test_values_may_be_written_as_people_do(task: NiahTask, form: str) -> None:
    sample = "niah_multivalue/1024/0"
    values = [form.format(int(value)) for value in task._rows[sample]["values"]]
    for text in (", ".join(values), "\n".join(values)):
        assert task.score(answered(sample, text)).correct == 1


def test_a_longer_number_names_no_value(task: NiahTask) -> None:
    sample = "niah_multivalue/1024/0"
    longer = " ".join(f"{value}0" for value in task._rows[sample]["values"])
    assert task.score(answered(sample, longer)).metrics["recall"] == 0


@pytest.mark.parametrize(("kind", "length"), [("niah", None), ("niah", 8), ("gsm8k", 4096)])
def test_only_needles_have_a_length(kind: str, length: int | None) -> None:
    with pytest.raises(FlybenchError) as caught:
        TaskConfig("x", kind, length=length)
    toys.assert_one_sentence(caught.value, f"task.length={length}", f"task.kind={kind}")
