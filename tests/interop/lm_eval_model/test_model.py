"""The model that lm-eval sees: what it answers, what it refuses, and in how many words."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import torch
from lm_eval.api.instance import Instance
from tokenizers.processors import TemplateProcessing

from flybench.core.errors import FlybenchError
from flybench.core.samples import Generation, Prompt, Record
from flybench.decode import Decoder
from flybench.interop.lm_eval_model import model as model_module
from flybench.interop.lm_eval_model.model import FlybenchLM
from flybench.interop.lm_eval_model.requests import config_of
from flybench.records.jsonl import read_jsonl
from flybench.run import generate as generate_module
from flybench.run.setup import ModelSetup
from tests.helpers import toys

SMALL: dict[str, Any] = {"model": "random", "method": "lookup"}


def request(context: str, number: int = 0, **kwargs: Any) -> Instance:
    wanted = {"until": [], "max_gen_toks": 6} | kwargs
    return Instance("generate_until", {}, (context, wanted), 0, ("toy", number, 1))


@pytest.mark.parametrize(
    ("settings", "device", "expected"),
    [
        ({"method.k": 4}, None, ("auto", 4)),
        ({"method.k": 4}, "cuda:0", ("auto", 4)),  # lm-eval's default, whatever the machine has
        ({"method.k": 4}, "cpu", ("cpu", 4)),
    ],
)
def test_settings_are_those_of_a_run(
    settings: dict[str, Any], device: str | None, expected: tuple[str, int]
) -> None:
    config = config_of(SMALL | settings, device)
    assert (config.engine.device, config.method.k) == expected


def test_values_survive_lm_evals_reading() -> None:
    """It turns text into numbers, lists and words of Python before we see it."""
    given = {
        "model.draft.skip_layers": [1, 2],
        "model.target.revision": None,
        "model.target.trust_remote_code": False,
        "method.verify.theta": 0.25,
        "model.description": 'a "b", c=d',
    }
    config = config_of({"model": "random", "method": "fly"} | given, None)
    assert config.model.draft is not None
    assert config.model.draft.skip_layers == (1, 2)
    assert config.model.target.revision is None
    assert config.method.verify["theta"] == 0.25
    assert config.model.description == 'a "b", c=d'


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"method": "lokup"}, "did you mean lookup"),
        ({"method.q": 3}, "method.q"),
        ({"task": "gsm8k"}, "--tasks"),
        ({"task.path": "x"}, "--tasks"),
        ({"limit": 3}, "--limit"),
        ({"batch_size": 4}, "one stream"),
        ({"engine.tp": 2}, "engine.tp=2"),
        ({"records": "nowhere/answers.jsonl"}, "create it first"),
    ],
)
def test_settings_that_cannot_work_are_one_sentence(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(FlybenchError) as caught:
        FlybenchLM(**(SMALL | settings))
    toys.assert_one_sentence(caught.value, said)


@pytest.mark.parametrize(
    ("settings", "asked", "said"),
    [
        ({}, {"do_sample": True, "temperature": 0.7}, "sampling.temperature=0.7"),
        ({}, {"temperature": 0.7}, "temperature=0.7"),
        ({"sampling": "t1"}, {"do_sample": False}, "temperature=1"),
        ({"sampling": "t1"}, {"do_sample": True, "top_p": 0.9}, "top_p=0.9"),
        ({}, {"num_beams": 4}, "num_beams"),
        ({}, {"max_gen_toks": 10**6}, "lower task.max_new_tokens"),
    ],
)
def test_requests_that_contradict_are_refused_before_any_weight(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], asked: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(model_module, "Session", None)
    own = FlybenchLM(**(SMALL | settings))
    with pytest.raises(FlybenchError) as caught:
        own.generate_until([request("Hello"), request("Hello", 1, **asked)])
    toys.assert_one_sentence(caught.value, said)


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, {"do_sample": False, "temperature": 0.7}),  # lm-eval ignores the temperature
        ({}, {"temperature": 0.0, "do_sample": None}),
        ({"sampling": "t1"}, {}),
        ({"sampling": "t1"}, {"do_sample": True, "temperature": 1.0}),
    ],
)
def test_requests_that_agree_are_answered(settings: dict[str, Any], asked: dict[str, Any]) -> None:
    (text,) = FlybenchLM(**(SMALL | settings)).generate_until([request("Hello", **asked)])
    assert isinstance(text, str)


def test_likelihoods_are_refused() -> None:
    own = FlybenchLM(**SMALL)
    for method in (own.loglikelihood, own.loglikelihood_rolling):
        with pytest.raises(FlybenchError) as caught:
            method([])
        toys.assert_one_sentence(caught.value, "generate_until")


def test_prompts_begin_with_one_bos(tmp_path: Path) -> None:
    """Whether the template has written one, or lm-eval sends bare text."""
    records = tmp_path / "answers.jsonl"
    own = FlybenchLM(records=str(records), **SMALL)
    bos, number = own.tokenizer.bos_token, own.tokenizer.bos_token_id
    own.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{bos} $A", special_tokens=[(bos, number)]
    )
    dressed = own.apply_chat_template([{"role": "user", "content": "Hello"}])
    assert dressed.startswith(bos)
    own.generate_until([request(dressed), request("Hello", 1)])
    first, second = read_jsonl(records, Record)
    bare = own.tokenizer.encode(dressed, add_special_tokens=False)
    assert first.turns[0].prompt_tokens == len(bare)
    assert bare.count(number) == 1
    assert second.turns[0].prompt_tokens == 1 + len("Hello")
    with pytest.raises(FlybenchError, match="two BOS"):
        own.generate_until([request(f"{bos}{bos}Hello")])


def test_templates(tmp_path: Path) -> None:
    own = FlybenchLM(**SMALL)
    asked = [{"role": "user", "content": "Sum?"}, {"role": "assistant", "content": "It is"}]
    assert own.apply_chat_template(asked, add_generation_prompt=False).endswith("It is")
    assert own.chat_template(True) == own.tokenizer.chat_template
    assert own.chat_template(False) == ""
    assert own.tokenizer_name == "random:llama"
    with pytest.raises(FlybenchError, match="leave the name out"):
        own.chat_template("rag")


def test_stops_end_answers_and_repeats_differ(tmp_path: Path) -> None:
    records = tmp_path / "answers.jsonl"
    own = FlybenchLM(records=str(records), **(SMALL | {"sampling": "t1"}))
    texts = own.generate_until([request("Hello", max_gen_toks=12)] * 2)
    assert texts[0] != texts[1]
    assert [record.sample_id for record in read_jsonl(records, Record)] == ["toy/0", "toy/0#2"]
    stop = texts[0][3]
    (cut,) = own.generate_until([request("Hello", until=["", stop], max_gen_toks=12)])
    assert cut == texts[0].partition(stop)[0]


def test_a_failure_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = tmp_path / "answers.jsonl"
    own = FlybenchLM(records=str(records), warmup=0, **SMALL)
    generate_turns = generate_module.generate_turns

    def failing(plan: ModelSetup, prompt: Prompt, decoder: Decoder, salt: str) -> list[Generation]:
        if prompt.sample_id == "toy/1":
            raise torch.OutOfMemoryError("no room")
        return generate_turns(plan, prompt, decoder, salt)

    monkeypatch.setattr(generate_module, "generate_turns", failing)
    with pytest.raises(FlybenchError, match="toy/1 failed"):
        own.generate_until([request("Hello", number) for number in range(3)])
    done, failed = read_jsonl(records, Record)
    assert done.turns
    assert failed.error == "OutOfMemoryError: no room"


def test_the_entry_point_names_the_model() -> None:
    """By it versions of lm-eval with plugins find the model in their own command."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    found = project["entry-points"]["lm_eval.models"]
    assert EntryPoint("flybench", found["flybench"], "lm_eval.models").load() is FlybenchLM
