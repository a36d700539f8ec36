"""ACPBench's progression: lm-eval's prompts, and both sets of facts as the answer."""

from __future__ import annotations

import gzip
import json

import pytest

from flybench.config import TaskConfig
from flybench.tasks.acp_bench import AcpBenchTask, effects
from tests.helpers.answered import answered

ROW = {
    "id": 3080925388833165113,
    "group": "progression_gen",
    "context": "The ferry is at l4. The available propositions are: (at-ferry ?l).",
    "question": 'Break down the outcomes of performing the action "sail from l4 to l0".',
    "answer": {"pos": ["(at-ferry l0)"], "neg": ["(at-ferry l4)"]},
    "PDDL_domain": "(define)",
    "PDDL_problem": "(define)",
}


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> AcpBenchTask:
    file = tmp_path_factory.mktemp("acp") / "test.gen.json.gz"
    file.write_bytes(gzip.compress(json.dumps([ROW]).encode()))
    return AcpBenchTask(TaskConfig("acp_prog_gen", "acp_bench", str(file)))


def test_prompts_are_those_of_lm_eval_with_two_shots(task: AcpBenchTask) -> None:
    (prompt,) = task.prompts()
    assert [message["role"] for message in prompt.messages] == ["user", "assistant"] * 2 + ["user"]
    assert prompt.messages[1]["content"] == "[(holding key0-0)] [(arm-empty), (at key0-0 f0-1f)]"
    asked = prompt.messages[-1]["content"]
    assert ROW["context"] in asked
    assert asked.endswith("**Final Answer**:")
    assert prompt.stop[-1] == "Q:"


@pytest.mark.parametrize(
    ("answer", "correct", "positive"),
    [
        ("[(at-ferry l0)] [(at-ferry l4)]", 1, 1),
        ("<think>Maybe [(p)] [(q)].</think>[(at-ferry l0)] [(at-ferry l4)]", 1, 1),
        ("<think>Maybe [(at-ferry l0)] [(at-ferry l4)]", 0, 0),
        ("The lists are [(AT-FERRY  L0)] and [ (at-ferry l4) ].", 1, 1),
        ("**Positive Effects**: (at-ferry l0)\n**Negative Effects**: (at-ferry l4)", 1, 1),
        ("[(at-ferry l4)] [(at-ferry l0)]", 0, 0),
        ("[(at-ferry l0)]", 0, 1),
        ("[(at-ferry l0), (empty-ferry)] [(at-ferry l4)]", 0, 0),
        ("Nothing changes.", 0, 0),
    ],
)
def test_both_sets_must_be_equal(
    task: AcpBenchTask, answer: str, correct: float, positive: float
) -> None:
    score = task.score(answered("acp_prog_gen/0", answer))
    assert (score.correct, score.metrics["positive"]) == (correct, positive)


def test_an_answer_without_lists_is_counted(task: AcpBenchTask) -> None:
    score = task.score(answered("acp_prog_gen/0", "Nothing changes."))
    assert score.metrics["extraction_failure"] == 1
    assert score.extracted is None


def test_a_single_list_leaves_the_other_empty() -> None:
    found = effects("[(a), (b  c)]")
    assert found == ({"a", "b c"}, frozenset())
