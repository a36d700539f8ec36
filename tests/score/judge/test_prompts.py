"""What a judge is shown: every turn before, the references, and two sides without a favourite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flybench.config import RunConfig
from flybench.config.compose import cells, parse_request
from flybench.core.errors import FlybenchError
from flybench.score.judge import check_judge, prompts_to_judge
from flybench.score.judge.base import Messages
from flybench.score.judge.prompts import Exchange, grade_prompt, pair_prompt
from flybench.tasks import build_task
from tests.helpers.recorded import REFERENCE, write_questions
from tests.helpers.toys import assert_one_sentence

OWN = [Exchange("What is 2 plus 2?", "It is 4.", "4"), Exchange("And plus 1?", "", "Five.")]
OTHER = [Exchange("What is 2 plus 2?", "It is 4.", "22"), Exchange("And plus 1?", "", "221")]


def text(messages: Messages) -> str:
    (message,) = messages
    assert message["role"] == "user"
    return message["content"]


def test_a_first_turn_is_graded_without_the_second() -> None:
    asked = text(grade_prompt(OWN[:1]))
    assert "And plus 1?" not in asked and "Five." not in asked
    assert '<answer number="1">\n4\n</answer>' in asked
    assert asked.endswith("Grade: N")


def test_a_second_turn_is_graded_with_the_whole_conversation() -> None:
    asked = text(grade_prompt(OWN))
    places = [asked.index(part) for part in ("2 plus 2", "\n4\n", "And plus 1?", "Five.")]
    assert places == sorted(places)
    assert "question 2, and that answer alone" in asked


def test_references_are_shown_where_they_exist() -> None:
    assert '<reference number="1">\nIt is 4.\n</reference>' in text(grade_prompt(OWN))
    without = [each._replace(reference="") for each in OWN]
    for asked in (text(grade_prompt(without)), text(pair_prompt(without, without))):
        assert "reference" not in asked


def test_two_orders_differ_in_the_answers_places_alone() -> None:
    first, second = text(pair_prompt(OWN, OTHER)), text(pair_prompt(OTHER, OWN))
    assert first != second
    swapped = first.replace("\n4\n", "\n?\n").replace("\n22\n", "\n4\n").replace("\n?\n", "\n22\n")
    swapped = swapped.replace("Five.", "?!").replace("\n221\n", "\nFive.\n").replace("?!", "221")
    assert swapped == second
    assert first.count("It is 4.") == 1, "a reference belongs to the question, and to no side"


def composed(*arguments: str) -> RunConfig:
    base = ["model=random", "method=fly", "judge=openai", "judge.model=m"]
    (config,) = cells(parse_request([*base, "judge.base_url=http://127.0.0.1:9/v1", *arguments]))
    return config


def references(*arguments: str) -> dict[str, tuple[str, ...]]:
    config = composed("task=mt_bench", *arguments)
    prompts = prompts_to_judge(config, build_task(config.task))
    return {name: prompt.references for name, prompt in prompts.items()}


def test_references_are_found_beside_the_questions_or_where_they_are_named(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "mt")
    known = {"1": ("It is 4.", "It is 5."), "2": ()}
    assert references(f"task.path={data}") == known
    assert references(f"task.path={data}/question.jsonl") == known
    bare = write_questions(tmp_path / "bare", references=False)
    assert references(f"task.path={bare}") == {"1": (), "2": ()}
    file = data / "reference_answer" / "gpt-4.jsonl"
    for named in (data, data / "reference_answer", file):
        assert references(f"task.path={bare}", f"judge.reference={named}") == known


def test_references_of_the_data_themselves(tmp_path: Path) -> None:
    row = {"question_id": 1, "category": "math", "turns": ["2+2?", "+1?"], "reference": ["4", "5"]}
    (tmp_path / "question.jsonl").write_text(json.dumps(row))
    assert references(f"task.path={tmp_path}") == {"1": ("4", "5")}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (json.dumps(REFERENCE | {"question_id": 99}), "no reference answer to any question"),
        ('{"question_id": 1}', "choices[0].turns"),
        ("{", "not a file of JSON rows"),
        (None, "has 0 reference-answer files"),
    ],
)
def test_bad_references_are_one_sentence(tmp_path: Path, content: str | None, said: str) -> None:
    data = write_questions(tmp_path / "mt", references=False)
    (data / "reference_answer").mkdir()
    if content is not None:
        (data / "reference_answer" / "a.jsonl").write_text(content)
    with pytest.raises(FlybenchError) as caught:
        references(f"task.path={data}")
    assert_one_sentence(caught.value, said)


def test_a_task_with_a_rule_is_not_judged() -> None:
    config = composed("task=demo")
    with pytest.raises(FlybenchError) as caught:
        check_judge(config, build_task(config.task))
    assert_one_sentence(caught.value, "task=demo", "judge=none")
