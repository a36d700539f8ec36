"""The prompts that drafters are trained on: what they are, and what they must not be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def written(*options: str) -> list[dict[str, str]]:
    command = [sys.executable, str(ROOT / "recipes/smollm2/write_prompts.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_prompts_are_whole_and_repeat(tmp_path: Path) -> None:
    questions = tmp_path / "train.jsonl"
    questions.write_text(json.dumps({"question": "How many?", "answer": "4"}) + "\n")
    rows = written("--count", "300", "--gsm8k", str(questions))
    assert {row["domain"] for row in rows} == {"math", "code", "chat", "gsm8k"}
    assert {"domain": "gsm8k", "prompt": "How many?", "solution": "4"} in rows
    assert not any("{" in row["prompt"] for row in rows)
    assert rows == written("--count", "300", "--gsm8k", str(questions))
    assert rows != written("--count", "300", "--seed", "1")


def test_the_demo_task_is_held_out() -> None:
    demo = (ROOT / "flybench/tasks/data/demo.jsonl").read_text().splitlines()
    asked = {turn for line in demo for turn in json.loads(line)["turns"]}
    assert not asked & {row["prompt"] for row in written()}


def test_solved_problems_come_first_in_prompts_of_one_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "recipes/smollm2")
    import answer  # type: ignore[import-not-found]

    class Words:
        """A target that counts a token for every word and one for every turn."""

        def asked(self, *turns: str) -> list[str]:
            return [word for turn in turns for word in ("<turn>", *turn.split())]

    monkeypatch.setattr(answer, "SHOWN", 30)
    rows = [{"prompt": " ".join("q" * n), "solution": " ".join("s" * n)} for n in range(1, 9)]
    found = answer.shown(Words(), rows, 100)
    assert found
    assert {len(ids) for ids in found} == {30}
    assert all(ids.count("<turn>") == 5 for ids in found)
    assert answer.shown(Words(), rows, 0) == []
