"""Conversations: both turns, categories, no judgement."""

import json
from pathlib import Path

import pytest

from flybench.config import TaskConfig
from flybench.core.errors import FlybenchError
from flybench.tasks.conversations import MtBenchTask, SpecBenchTask
from tests.helpers import toys
from tests.helpers.answered import answered

ROW = {"question_id": 7, "category": "writing", "turns": ["Write a line.", "Make it shorter."]}


def test_two_turns_unjudged(tmp_path: Path) -> None:
    file = tmp_path / "question.jsonl"
    file.write_text(json.dumps(ROW) + "\n")
    task = MtBenchTask(TaskConfig("mt_bench", "mt_bench", str(tmp_path)))
    (prompt,) = task.prompts()
    assert prompt.sample_id == "7"
    assert prompt.messages == ({"role": "user", "content": "Write a line."},)
    assert prompt.followups == ("Make it shorter.",)
    assert task.score(answered("7", "a", "b")).correct is None


def test_spec_bench_has_six_subtasks(tmp_path: Path) -> None:
    rows = [
        {"question_id": number, "category": category, "turns": ["Hello?"]}
        for number, category in enumerate(["writing", "stem", "translation", "rag"])
    ]
    (tmp_path / "question.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = SpecBenchTask(TaskConfig("spec_bench", "spec_bench", str(tmp_path)))
    found = [prompt.category for prompt in task.prompts()]
    assert found == ["multi-turn conversation"] * 2 + ["translation", "rag"]


def test_spec_bench_is_asked_for_by_its_source() -> None:
    with pytest.raises(FlybenchError) as caught:
        SpecBenchTask(TaskConfig("spec_bench", "spec_bench"))
    toys.assert_one_sentence(caught.value, "task.path=", "hemingkx/Spec-Bench")
