"""Any task of lm-eval: its prompts, its filters and metrics, and data of one's own."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml
from lm_eval.tasks import TaskManager

from flybench.config import TaskConfig
from flybench.core.errors import FlybenchError
from flybench.engine.loading.random_models import byte_tokenizer
from flybench.tasks.chat import Chat
from flybench.tasks.lm_eval import recipes
from flybench.tasks.lm_eval.task import LmEvalTask
from tests.helpers import toys
from tests.helpers.answered import answered

RECIPE: dict[str, Any] = {
    "task": "capitals",
    "dataset_path": "nobody/capitals",
    "output_type": "generate_until",
    "training_split": "train",
    "test_split": "test",
    "description": "Answer with one word.",
    "doc_to_text": "Capital of {{country}}?",
    "doc_to_target": "{{city}}",
    "num_fewshot": 1,
    "generation_kwargs": {"until": ["\n"]},
    "filter_list": [
        {"name": "strict", "filter": [{"function": "take_first"}]},
        {
            "name": "loose",
            "filter": [
                {"function": "regex", "regex_pattern": "([A-Z][a-z]+)"},
                {"function": "take_first"},
            ],
        },
    ],
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    "metadata": {"version": 1.0},
}
ROWS = {
    "train": [{"country": "Peru", "city": "Lima"}, {"country": "Iran", "city": "Tehran"}],
    "test": [{"country": "Chile", "city": "Santiago"}, {"country": "Mali", "city": "Bamako"}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split, rows in ROWS.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{split}.jsonl").write_text(lines)
    return tmp_path


def config(folder: Path, path: Path | None = None, change: Any = None, **more: Any) -> TaskConfig:
    """Of a task whose recipe is RECIPE with `change`."""
    recipe = folder / "capitals.yaml"
    recipe.write_text(yaml.safe_dump(RECIPE | (change or {})))
    return TaskConfig(
        "capitals", "lm_eval", str(path or folder), recipe=str(recipe), **({"metric": None} | more)
    )


def refused(given: TaskConfig, *parts: str) -> None:
    with pytest.raises(FlybenchError) as caught:
        LmEvalTask(given)
    toys.assert_one_sentence(caught.value, *parts)


def test_prompts_are_those_of_the_recipe(folder: Path) -> None:
    task = LmEvalTask(config(folder))
    first, second = task.prompts()
    assert first.sample_id == "capitals/0"
    assert [message["role"] for message in first.messages] == [
        *("system", "user", "assistant", "user")
    ]
    assert first.messages[0]["content"].startswith("Answer with one word")
    assert first.messages[-1]["content"] == "Capital of Chile?"
    assert second.messages[-1]["content"] == "Capital of Mali?"
    assert first.stop == ("\n",)
    assert task.prompts(1) == [first]


def test_a_recipe_may_begin_the_answer(folder: Path) -> None:
    task = LmEvalTask(config(folder, change={"gen_prefix": "{{country}}'s is"}))
    (*earlier, beginning), _ = (prompt.messages for prompt in task.prompts())
    assert [message["role"] for message in earlier][-1] == "user"
    assert beginning == {"role": "assistant", "content": "Chile's is"}


def test_without_a_template_the_text_is_lm_evals(folder: Path) -> None:
    delimiters = {"target_delimiter": " -> ", "fewshot_delimiter": "\n", "gen_prefix": "A:"}
    task = LmEvalTask(config(folder, change=delimiters, chat_template="none"))
    (message,) = task.prompts()[0].messages
    text = Chat(byte_tokenizer(), "none").render([message])
    shot, asked = text.split("\n")
    shots = {f"Capital of {row['country']}? -> A: {row['city']}" for row in ROWS["train"]}
    assert shot.removeprefix("Answer with one word.") in shots
    assert asked == "Capital of Chile? -> A:"


def test_a_metric_of_all_answers_judges_none(folder: Path) -> None:
    metrics = [{"metric": name} for name in ("bleu", "f1")]
    task = LmEvalTask(config(folder, change={"metric_list": metrics}))
    assert task.judged == "unjudged"
    toys.assert_one_sentence(FlybenchError(task.caution), "bleu and f1 of capitals")
    score = task.score(answered("capitals/0", "Santiago"))
    assert (score.correct, score.metrics) == (None, {})
    both = {"metric_list": [*metrics, *RECIPE["metric_list"]]}
    task = LmEvalTask(config(folder, change=both))
    assert (task.judged, task.caution) == ("scored", None)
    assert task.score(answered("capitals/0", "Santiago")).correct == 1
    refused(config(folder, change=both, metric="bleu,strict"), "task.metric=bleu,strict")
    # A recipe's own way to add up says nothing of single answers.
    task._task._aggregation_list["exact_match"] = lambda found: sum(found) / len(found)
    assert task._metrics() == (["exact_match"], ["bleu", "f1"])


@pytest.mark.parametrize(
    ("text", "strict", "loose"), [("Santiago", 1, 1), ("It is: Santiago", 0, 0), ("no", 0, 0)]
)
def test_every_filter_is_scored(folder: Path, text: str, strict: int, loose: int) -> None:
    task = LmEvalTask(config(folder, metric="exact_match,loose"))
    score = task.score(answered("capitals/0", text))
    assert score.metrics == {"exact_match,strict": strict, "exact_match,loose": loose}
    assert score.correct == loose


def test_the_first_metric_is_the_accuracy(folder: Path) -> None:
    task = LmEvalTask(config(folder))
    score = task.score(answered("capitals/1", "Bamako"))
    assert (score.correct, score.extracted) == (1, "Bamako")
    assert task.score(answered("capitals/1", "the city Bamako.")).correct == 0


def test_an_answer_that_cannot_be_scored_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = LmEvalTask(config(folder))

    def broken(doc: Any, results: Any) -> Any:
        raise ValueError("odd")

    monkeypatch.setattr(task._task, "process_results", broken)
    score = task.score(answered("capitals/0", "Santiago"))
    assert score.correct is None
    assert "ValueError: odd" in score.reason


def test_a_table_without_a_header_is_named_by_the_user(folder: Path) -> None:
    table = folder / "asked.tsv"
    table.write_text('Chile\tSantiago\n"Mali\tBamako\n')
    given = config(folder, table, columns=("country", "city", "note"), num_fewshot=0)
    task = LmEvalTask(given)
    assert [prompt.messages[-1]["content"] for prompt in task.prompts()] == [
        *("Capital of Chile?", 'Capital of "Mali?')
    ]
    assert task.score(answered("capitals/0", "Santiago")).correct == 1


def test_one_file_shows_none_of_what_it_asks(folder: Path) -> None:
    refused(config(folder, folder / "test.jsonl"), "task.num_fewshot=1", "the 0 examples")


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"output_type": "loglikelihood"}, ("loglikelihood", "generate_until")),
        ({"unsafe_code": True}, ("without a sandbox", "task=humaneval")),
        ({"repeats": 4}, ("4 answers",)),
        ({"test_split": "exam"}, ("no exam split", "exam.jsonl")),
        ({"num_fewshot": 3}, ("more than the 2",)),
    ],
)
def test_what_is_not_measured_here_is_refused(
    folder: Path, change: dict[str, Any], parts: tuple[str, ...]
) -> None:
    refused(config(folder, change=change), *parts)


def test_what_cannot_be_read_is_refused(folder: Path, tmp_path: Path) -> None:
    refused(config(folder, metric="accuracy"), "task.metric=accuracy", "exact_match,strict")
    (tmp_path / "notes.txt").write_text("x")
    refused(config(folder, tmp_path / "notes.txt"), "not of a known format", ".jsonl")
    (folder / "train.jsonl").rename(folder / "train.json")
    (folder / "train.json").rename(folder / "train.csv")
    refused(config(folder), "mixes formats")
    (folder / "test.jsonl").write_text("{")
    (folder / "train.csv").unlink()
    refused(config(folder), "could not load capitals")
    refused(TaskConfig("capitals", "lm_eval", recipe="nowhere.yaml"), "task.recipe=nowhere.yaml")


def test_names_are_lm_evals(monkeypatch: pytest.MonkeyPatch) -> None:
    # lm-eval's index of two of its folders: that of all takes 15 s.
    root = resources.files("lm_eval.tasks")
    folders = [str(root / name) for name in ("gsm8k", "mgsm")]
    index = TaskManager(include_path=folders, include_defaults=False).task_index
    monkeypatch.setattr(recipes, "_index", lambda: index)
    refused(TaskConfig("gsm9k", "lm_eval"), "gsm9k", "did you mean gsm8k")
    refused(TaskConfig("mgsm_direct", "lm_eval"), "group", "mgsm_direct_fr")
    refused(TaskConfig("humaneval_instruct", "lm_eval"), "task=humaneval_instruct")


def test_mgsm_in_its_own_format(tmp_path: Path) -> None:
    table = tmp_path / "mgsm_fr.tsv"
    table.write_text("Trois œufs et deux œufs ?\t5\n")
    columns = ("question", "answer_number", "answer")
    task = LmEvalTask(TaskConfig("mgsm_native_cot_fr", "lm_eval", str(table), columns=columns))
    (prompt,) = task.prompts()
    assert prompt.messages[-1]["content"].startswith("Question : Trois œufs")
    score = task.score(answered("mgsm_native_cot_fr/0", "La réponse est 5"))
    assert set(score.metrics.values()) == {1.0}


@pytest.mark.parametrize(
    "wrong", [{"recipe": "x.yaml"}, {"columns": ("a",)}, {"metric": "exact_match,loose"}]
)
def test_settings_of_another_kind_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(FlybenchError) as caught:
        TaskConfig("gsm8k", "gsm8k", **wrong)
    toys.assert_one_sentence(caught.value, "task.")


@pytest.mark.parametrize(
    "change",
    [
        {"fewshot_split": "test"},
        {"fewshot_config": {"split": "test"}},
        {"training_split": None},
    ],
)
def test_nothing_that_is_asked_is_shown(folder: Path, change: dict[str, Any]) -> None:
    refused(config(folder, change=change), "the 0 examples")


def test_shots_may_come_from_a_split_of_their_own(folder: Path) -> None:
    change = {"training_split": None, "fewshot_config": {"split": "train"}}
    task = LmEvalTask(config(folder, change=change))
    assert "Chile" not in task.prompts(1)[0].messages[1]["content"]


def test_a_column_id_is_the_datas_own_business(folder: Path) -> None:
    for split in ROWS:
        rows = [row | {"id": 1.5} for row in ROWS[split]]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = LmEvalTask(config(folder))
    assert [prompt.sample_id for prompt in task.prompts()] == ["capitals/0", "capitals/1"]


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: [", "\x00"])
def test_a_recipe_that_is_none_is_refused(folder: Path, text: str) -> None:
    given = config(folder)
    (folder / "capitals.yaml").write_text(text)
    refused(given, "capitals.yaml is not an lm-eval recipe")


def test_a_recipe_without_a_metric_is_refused(folder: Path) -> None:
    refused(config(folder, change={"metric_list": None}), "no metric")


def test_errors_are_no_accuracy(folder: Path) -> None:
    """Of a metric of which less is better a wrong answer would have the most."""
    wrong = {"metric": "exact_match", "aggregation": "mean", "higher_is_better": False}
    refused(config(folder, change={"metric_list": [wrong]}), "higher is better")


def test_a_metric_beyond_one_is_no_accuracy_either(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = LmEvalTask(config(folder))
    for value, right in ((0.5, True), (95.0, False), (-0.1, False)):
        given = {"exact_match": value}
        monkeypatch.setattr(task._task, "process_results", lambda *_, given=given: given)
        if right:
            assert task.score(answered("capitals/0", "Santiago")).correct == value
            continue
        with pytest.raises(FlybenchError) as caught:
            task.score(answered("capitals/0", "Santiago"))
        toys.assert_one_sentence(caught.value, f"{value:g}", "task.metric=")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"until": ["\n"], "do_sample": False, "temperature": 0.0, "top_p": 1.0}, None),
        ({"max_gen_toks": TaskConfig("a", "lm_eval").max_new_tokens}, None),
        ({"max_gen_toks": 7}, "sets max_gen_toks=7; flybench"),
        ({"do_sample": True, "temperature": 0.8}, "sets do_sample=True, temperature=0.8; flybench"),
    ],
)
def test_what_a_recipe_says_of_decoding_is_told_if_a_run_differs(
    folder: Path, asked: dict[str, Any], said: str | None
) -> None:
    caution = LmEvalTask(config(folder, change={"generation_kwargs": asked})).caution
    assert caution is None if said is None else said in (caution or "")


def test_an_empty_stop_string_stops_nothing(folder: Path) -> None:
    task = LmEvalTask(config(folder, change={"generation_kwargs": {"until": ["", "\n"]}}))
    assert task.prompts(1)[0].stop == ("\n",)


def test_the_hash_knows_data_and_recipe(folder: Path) -> None:
    first = LmEvalTask(config(folder)).data_sha256
    assert LmEvalTask(config(folder)).data_sha256 == first
    other = LmEvalTask(config(folder, change={"doc_to_target": "{{country}}"}))
    assert other.data_sha256 != first
    (folder / "test.jsonl").write_text(json.dumps(ROWS["test"][1]) + "\n")
    assert LmEvalTask(config(folder)).data_sha256 != first


def test_a_run_is_scored_with_its_own_data_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from flybench.cli.main import main

    monkeypatch.chdir(folder)
    given = config(folder)
    asked = [f"task.recipe={given.recipe}", f"task.path={folder}", "task.name=capitals"]
    quick = ["model=random", "method=ar", "task.max_new_tokens=4"]
    assert main(["run", "task=lm_eval", *quick, *asked]) == 0
    (run,) = (folder / "results").iterdir()
    assert main(["score", str(run)]) == 0
    rows = [row | {"city": "Quito"} for row in ROWS["test"]]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["score", str(run)]) == 2
    assert "differ from those of the run" in capfd.readouterr().err
