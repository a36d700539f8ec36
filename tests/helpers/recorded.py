"""A recorded MT-Bench run of a few short answers, which no model had to decode."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from msgspec import structs

from flybench.config.compose import cells, parse_request
from flybench.core.samples import Record
from flybench.records.folder import RunFolder
from flybench.run.provenance import write_config
from flybench.tasks import build_task
from tests.helpers.synthetic import PROVENANCE, generation

QUESTIONS = [
    {"question_id": 1, "category": "math", "turns": ["What is 2 plus 2?", "And plus 1?"]},
    {"question_id": 2, "category": "writing", "turns": ["Greet me."]},
]
REFERENCE = {"question_id": 1, "choices": [{"index": 0, "turns": ["It is 4.", "It is 5."]}]}
ANSWERS = {
    "ar": {"1": ["4", "5"], "2": ["Hello."]},
    "fly": {"1": ["Four it is.", "6"], "2": ["Hello."]},
}
Answers = Mapping[str, Mapping[str, Sequence[str]]]


def write_questions(folder: Path, references: bool = True) -> Path:
    """question.jsonl, and beside it the reference answers."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(row) + "\n" for row in QUESTIONS)
    (folder / "question.jsonl").write_text("".join(lines))
    if references:
        (folder / "reference_answer").mkdir()
        (folder / "reference_answer" / "gpt-4.jsonl").write_text(json.dumps(REFERENCE) + "\n")
    return folder


def write_recorded(path: Path, data: Path, answers: Answers = ANSWERS) -> RunFolder:
    """A run's folder without scores, as `flybench run task=mt_bench judge=none` leaves it."""
    arguments = ["model=random", "method=fly", "task=mt_bench", f"task.path={data}"]
    (config,) = cells(parse_request(arguments))
    folder = RunFolder(path)
    write_config(folder, config)
    about = {
        "task": "mt_bench",
        "judged": "unjudged",
        "task_config": asdict(config.task),
        "data_sha256": build_task(config.task).data_sha256,
    }
    folder.write_json("provenance.json", PROVENANCE | about)
    for method, samples in answers.items():
        for sample_id, texts in samples.items():
            turns = [
                structs.replace(generation(number, method, 2.0), text=text)
                for number, text in enumerate(texts)
            ]
            folder.append(Record(sample_id, method, "any", 0, "0" * 64, turns))
    return folder
