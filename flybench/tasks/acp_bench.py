"""ACPBench's progression task: which facts an action makes true, and which it makes false.

Prompts and few-shot examples are those of lm-eval's `acp_prog_gen`. Its scorer needs parsers and
planners that conflict with Hydra. For this task it only compares two sets of facts, as done here.
An answer is correct if both sets are equal.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from flybench.core.declare import task
from flybench.core.samples import Record, Score
from flybench.tasks.base import row_of
from flybench.tasks.extract.thoughts import answer_text
from flybench.tasks.lm_eval.recipe_task import RecipeTask

LIST = re.compile(r"\[([^\[\]]*)\]")
FACT = re.compile(r"\(([^()]*)\)")
HEADINGS = re.compile(r"positive effects(.*)negative effects(.*)", re.DOTALL)


class Effects(NamedTuple):
    """Facts that become true, and facts that become false."""

    positive: frozenset[str]
    negative: frozenset[str]


def effects(text: str) -> Effects | None:
    """Return the first two lists of an answer, or the lists under the two headings; None without
    either.

    As in lm-eval, a single list means that the other is empty.
    """
    lowered = text.lower()
    lists = LIST.findall(lowered)[:2]
    if not lists and (found := HEADINGS.search(lowered)):
        lists = list(found.groups())
    if not lists:
        return None
    return Effects(*(_facts(part) for part in [*lists, ""][:2]))


def _facts(text: str) -> frozenset[str]:
    return frozenset(" ".join(fact.replace(",", " ").split()) for fact in FACT.findall(text))


@task("acp_bench")
class AcpBenchTask(RecipeTask):
    """lm-eval's `acp_prog_gen` with flybench's own scorer."""

    _category = "planning"
    _left_out = ("process_results", "filter_list", "metric_list")

    def score(self, record: Record) -> Score:
        answer = row_of(self._rows, record)["answer"]
        said = effects(answer_text(record))
        wanted = Effects(*(_facts(" ".join(answer[sign]).lower()) for sign in ("pos", "neg")))
        metrics = {"both_sets": float(said == wanted), "extraction_failure": float(said is None)}
        for name in Effects._fields:
            right = said is not None and getattr(said, name) == getattr(wanted, name)
            metrics[name] = float(right)
        shown = None if said is None else " ".join(str(sorted(facts)) for facts in said)
        return Score(record.sample_id, record.method, metrics["both_sets"], metrics, shown)

    def _fields(self) -> dict[str, type]:
        return {"context": str, "question": str, "answer": dict}
