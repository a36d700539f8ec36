"""MT-Bench: both turns, both spellings of the data, no judgement."""

import json
from pathlib import Path

from flybench.config import TaskConfig
from flybench.tasks.mt_bench import MtBenchTask
from tests.tasks.records import answered

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
