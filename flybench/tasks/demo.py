"""The built-in demo: 40 word problems, 20 functions, 10 chats, 10 out-of-distribution items.

It was written for flybench, at the level of a 135M model. The categories are mixed: any `limit=` is
a fair sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from flybench.config import TaskConfig
from flybench.config.checks import allow
from flybench.core.declare import task
from flybench.core.errors import FlybenchError
from flybench.core.samples import Prompt, Record, Score
from flybench.sandbox.execute import run_program
from flybench.tasks.base import Judged, RowTask, row_of
from flybench.tasks.extract.code import program_in
from flybench.tasks.extract.numbers import as_number, final_number
from flybench.tasks.extract.thoughts import answer_text
from flybench.tasks.extract.words import contains_words
from flybench.tasks.programs import assembled
from flybench.tasks.sources import by_id, local_file, package_file, read_rows


@task("demo")
class DemoTask(RowTask):
    """Five kinds of items: number, python, contains, exact, and open ones without a score."""

    judged: Judged = "partly judged"
    runs_code = True

    def __init__(self, config: TaskConfig) -> None:
        built_in = package_file("flybench.tasks", "data/demo.jsonl")
        assert built_in is not None, "the demo data ship with the package"
        path = local_file(config.path, "demo.jsonl") if config.path else built_in
        self._config = config
        fields = {"category": str, "kind": str, "turns": list, "reference": dict}
        self._rows = by_id(read_rows(path), "id", fields)
        for name, row in self._rows.items():
            allow(f"kind of sample {name}", row["kind"], tuple(JUDGES))
            missing = NEEDS[row["kind"]] - set(row["reference"])
            if missing:
                raise FlybenchError(f"the reference of sample {name} lacks {min(missing)}: add it.")

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        return [_prompt(row, self._config) for row in islice(self._rows.values(), count)]

    def score(self, record: Record) -> Score:
        row = row_of(self._rows, record)
        text = answer_text(record)
        correct, extracted, reason = JUDGES[row["kind"]](text, row["reference"])
        metrics = {} if correct is None else {"correct": correct}
        return Score(record.sample_id, record.method, correct, metrics, extracted, reason)


def _prompt(row: dict[str, Any], config: TaskConfig) -> Prompt:
    first, *followups = row["turns"]
    return Prompt(
        sample_id=str(row["id"]),
        messages=({"role": "user", "content": first},),
        followups=tuple(followups),
        category=row["category"],
        max_new_tokens=config.max_new_tokens,
    )


Judgement = tuple[float | None, str | None, str]


def _number(text: str, reference: dict[str, Any]) -> Judgement:
    found = final_number(text)
    if found is None:
        return 0.0, None, "no number in the answer"
    return float(found == as_number(reference["answer"])), str(found), ""


def _python(text: str, reference: dict[str, Any]) -> Judgement:
    code = program_in(text, reference["entry_point"])
    if code is None:
        return 0.0, None, f"no definition of {reference['entry_point']} in the answer"
    result = run_program(assembled(code, reference["tests"]))
    return float(result.passed), code, f"{result.reason} {result.detail}".strip()


def _contains(text: str, reference: dict[str, Any]) -> Judgement:
    found = next((word for word in reference["answers"] if contains_words(text, word)), None)
    return float(found is not None), found, "" if found else "none of the answers occurs"


def _exact(text: str, reference: dict[str, Any]) -> Judgement:
    return float(text.strip() == reference["answer"]), text.strip(), ""


def _open(text: str, reference: dict[str, Any]) -> Judgement:
    return None, None, "open-ended, not judged"


# The required fields of a reference, by kind.
NEEDS: dict[str, set[str]] = {
    "number": {"answer"},
    "python": {"entry_point", "tests"},
    "contains": {"answers"},
    "exact": {"answer"},
    "open": set(),
}
JUDGES = {
    "number": _number,
    "python": _python,
    "contains": _contains,
    "exact": _exact,
    "open": _open,
}
