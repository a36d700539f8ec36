"""Questions of a run for a judge: a grade for every turn, and two comparisons with AR.

The grade of a later turn is asked with all turns before it. Whole conversations are compared in
both orders, because judges have a position bias. Equal conversations are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flybench.config import BASELINE, RunConfig
from flybench.core.errors import FlybenchError
from flybench.core.judgements import JudgementKind, Order
from flybench.core.samples import Prompt, Record
from flybench.records.folder import Key
from flybench.score.judge.base import Messages, key_of
from flybench.score.judge.prompts import Exchange, grade_prompt, pair_prompt
from flybench.tasks.sources import read_rows

ORDERS: tuple[Order, ...] = ("ar first", "method first")


@dataclass(frozen=True)
class Question:
    """One question and its subject; the fields are those of `Judgement`."""

    key: str
    sample_id: str
    method: str
    kind: JudgementKind
    messages: Messages
    turn: int | None = None
    order: Order | None = None


def questions(
    records: Mapping[Key, Record], prompts: Mapping[str, Prompt], identity: Mapping[str, Any]
) -> Iterator[Question]:
    """Yield every question about finished records; `prompts` are by sample."""
    for (sample_id, method), record in records.items():
        if record.error or sample_id not in prompts:
            continue
        own = exchanges(prompts[sample_id], record)
        for turn in range(1, len(own) + 1):
            messages = grade_prompt(own[:turn])
            key = key_of(identity, messages)
            yield Question(key, sample_id, method, "single", messages, turn=turn)
        baseline = records.get((sample_id, BASELINE))
        if method == BASELINE or baseline is None or baseline.error or alike(baseline, record):
            continue
        plain = exchanges(prompts[sample_id], baseline)
        for order in ORDERS:
            sides = (plain, own) if order == "ar first" else (own, plain)
            messages = pair_prompt(*sides)
            key = key_of(identity, messages)
            yield Question(key, sample_id, method, "pair", messages, order=order)


def exchanges(prompt: Prompt, record: Record) -> list[Exchange]:
    """Return the turns of a record with their questions and references."""
    first = "\n\n".join(message["content"] for message in prompt.messages)
    asked = [first, *prompt.followups]
    known = [*prompt.references, *[""] * len(asked)]
    return [
        Exchange(question, reference, turn.text)
        for question, reference, turn in zip(asked, known, record.turns, strict=False)
    ]


def alike(first: Record, second: Record) -> bool:
    """Return whether two records have equal answers."""
    return [turn.text for turn in first.turns] == [turn.text for turn in second.turns]


FOLDER = "reference_answer"


def with_references(prompts: Sequence[Prompt], config: RunConfig) -> list[Prompt]:
    """Return the prompts with references from the file of `config`, or else with their own.

    The file is in MT-Bench's format, one JSON object per line:

    {"question_id": 101, "choices": [{"turns": ["answer to turn 1", "answer to turn 2"]}], …}

    Raises:
        FlybenchError: the file is missing or of another format.
    """
    file = _file(config)
    if file is None:
        return list(prompts)
    found = dict(_references(row, file) for row in read_rows(file))
    if not found.keys() & {prompt.sample_id for prompt in prompts}:
        raise FlybenchError(
            f"{file} has no reference answer to any question of task {config.task.name}: set the "
            "right file with judge.reference=."
        )
    return [replace(p, references=found.get(p.sample_id, ())) for p in prompts]


def _file(config: RunConfig) -> Path | None:
    """Return the file of reference answers; None if none is set or found."""
    if config.judge.reference is None:
        if config.task.path is None:
            return None
        path = Path(config.task.path).expanduser()
        folder = (path.parent if path.is_file() else path) / FOLDER
        return _only(folder) if folder.is_dir() else None
    named = Path(config.judge.reference).expanduser()
    if named.is_file():
        return named
    inside = named / FOLDER
    return _only(inside if inside.is_dir() else named)


def _only(folder: Path) -> Path:
    files = sorted(folder.glob("*.jsonl"))
    if len(files) != 1:
        raise FlybenchError(
            f"{folder} has {len(files)} reference-answer files (.jsonl), not one: choose one with "
            "judge.reference=."
        )
    return files[0]


def _references(row: Any, file: Path) -> tuple[str, tuple[str, ...]]:
    try:
        turns = tuple(row["choices"][0]["turns"])
        if all(isinstance(turn, str) for turn in turns):
            return str(row["question_id"]), turns
    except (KeyError, IndexError, TypeError):
        pass
    raise FlybenchError(
        f"{file} is not in MT-Bench's format of reference answers: each line needs question_id and "
        "choices[0].turns, a list of texts."
    )
