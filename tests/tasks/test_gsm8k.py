"""GSM8K through lm-eval: its prompts and filters, and the numeric rule beside them."""

import json
from pathlib import Path

import pytest

from flybench.config import TaskConfig
from flybench.core.errors import FlybenchError
from flybench.tasks.gsm8k import Gsm8kTask
from tests.helpers.answered import answered

TRAIN = [
    {
        "question": f"Lena has {n} shells and finds {n + 1} more. How many?",
        "answer": f"{n} + {n + 1} = {2 * n + 1}\n#### {2 * n + 1}",
    }
    for n in range(1, 9)
]
TEST = [
    {
        "question": "A tram with 9 people takes on 9 more. How many ride?",
        "answer": "9 + 9 = 18\n#### 18",
    },
    {"question": "Two bags of 600 beans each. How many beans?", "answer": "2 * 600\n#### 1,200"},
]


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Gsm8kTask:
    folder = tmp_path_factory.mktemp("gsm8k")
    for name, rows in {"train": TRAIN, "test": TEST}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Gsm8kTask(TaskConfig("gsm8k", "gsm8k", str(folder), metric="numeric"))


@pytest.mark.parametrize(
    ("text", "strict", "flexible", "numeric"),
    [
        ("The answer is $18.", 0, 1, 1),
        ("#### 18", 1, 1, 1),
        (r"\boxed{18}", 0, 1, 1),
        ("18.00", 0, 0, 1),
        ("18...", 0, 0, 1),
        ("18 ...", 0, 0, 1),
        ("It costs $18 per day for 1 day", 0, 0, 0),
        ("18 (see step 3)", 0, 0, 0),
        ("#### 18 and then #### 99", 1, 0, 1),
        ("18\nQuestion: what is 7 + 2?", 0, 0, 1),
        ("no idea", 0, 0, 0),
    ],
)
def test_three_rules(task: Gsm8kTask, text: str, strict: int, flexible: int, numeric: int) -> None:
    metrics = task.score(answered("gsm8k/0", text)).metrics
    assert (metrics["strict"], metrics["flexible"], metrics["numeric"]) == (
        strict,
        flexible,
        numeric,
    )


def test_extraction_failures(task: Gsm8kTask) -> None:
    metrics = task.score(answered("gsm8k/0", "no idea")).metrics
    assert metrics["extraction_failure"] == metrics["flexible_failure"] == 1
    assert task.score(answered("gsm8k/0", "maybe 3")).metrics["strict_failure"] == 1


def test_thousands_separators(task: Gsm8kTask) -> None:
    assert set(task.score(answered("gsm8k/1", "#### 1,200")).metrics.values()) == {0.0, 1.0}
    assert task.score(answered("gsm8k/1", "1200 beans")).correct == 1


def test_prompts_are_those_of_lm_eval(task: Gsm8kTask) -> None:
    own = task._task
    own.set_fewshot_seed(1234)
    expected = [
        own.fewshot_context(
            doc,
            num_fewshot=5,
            apply_chat_template=True,
            fewshot_as_multiturn=True,
            chat_template=lambda messages, add_generation_prompt: json.dumps(messages),
        )
        for doc in own.eval_docs
    ]
    assert [list(prompt.messages) for prompt in task.prompts()] == [json.loads(e) for e in expected]


def test_prompts_of_a_prefix_are_the_same(task: Gsm8kTask) -> None:
    assert task.prompts(1) == task.prompts()[:1]
    assert [message["role"] for message in task.prompts(1)[0].messages] == [
        "user",
        "assistant",
    ] * 5 + ["user"]
    assert "Question:" in task.prompts(1)[0].stop


def test_missing_split_is_named(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text(json.dumps(TEST[0]) + "\n")
    with pytest.raises(FlybenchError, match="train.jsonl"):
        Gsm8kTask(TaskConfig("gsm8k", "gsm8k", str(tmp_path)))


def test_one_file_for_both_splits_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "test.jsonl"
    file.write_text(json.dumps(TEST[0]) + "\n")
    with pytest.raises(FlybenchError, match="not a folder"):
        Gsm8kTask(TaskConfig("gsm8k", "gsm8k", str(file)))


def test_too_many_shots_are_refused(tmp_path: Path) -> None:
    for name in ("train", "test"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(TEST[0]) + "\n")
    with pytest.raises(FlybenchError, match="more than the 1"):
        Gsm8kTask(TaskConfig("gsm8k", "gsm8k", str(tmp_path)))
