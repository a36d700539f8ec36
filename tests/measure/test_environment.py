"""The description of the machine, and secrets on the command line."""

from __future__ import annotations

import json
import os

import pytest
import torch

from flybench.measure import environment as module
from flybench.measure.environment import (
    computes_natively,
    device_name,
    environment,
    physical_cores,
    redacted,
)

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    "argument",
    [
        "token=abc", "hf_token=abc", "HF_TOKEN=abc", "judge.api_key=abc", "+judge.key=abc",
        "judge.secret=abc", "db.password=abc", "aws_credential=abc", "x.client_secret=a=b=c",
    ],
)  # fmt: skip
def test_values_of_secrets_are_redacted(argument: str) -> None:
    (clean,) = redacted([argument])
    assert clean == argument.split("=")[0] + "=<redacted>"


@pytest.mark.parametrize("argument", ["judge.apikey=abc", "judge.api-key=abc", "--api-token=abc"])
def test_other_spellings_of_secrets_are_redacted(argument: str) -> None:
    assert "abc" not in redacted([argument])[0]


@pytest.mark.parametrize(
    "argument",
    [
        "task.max_new_tokens=512", "method.draft.lookup_tokens=6", "model=tiny", "run", "token",
        "model.target.path=org/key", "monkey=1", "out=results/token=x",
    ],
)  # fmt: skip
def test_everything_else_is_left_alone(argument: str) -> None:
    assert redacted([argument]) == [argument]


def test_the_order_of_arguments_stays() -> None:
    given = ["run", "hf_token=a", "limit=3"]
    assert redacted(given) == ["run", "hf_token=<redacted>", "limit=3"]
    assert given[1] == "hf_token=a"


def test_environment_is_plain_data_without_environment_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_TOKEN", "not-to-be-written")
    found = environment(CPU)
    assert "not-to-be-written" not in json.dumps(found)
    assert found["packages"]["torch"] == torch.__version__
    assert found["gpus"] == []
    assert found["device"] == device_name(CPU) != ""
    assert found["threads"] == torch.get_num_threads()
    assert found["memory_bytes"] > 0
    assert found["cores"] >= 1


@pytest.mark.parametrize(
    ("line", "dtype", "native"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16", torch.bfloat16, True),
        ("flags\t\t: fpu avx512f avx512_bf16", torch.float16, False),
        ("flags\t\t: fpu avx2", torch.bfloat16, False),
        ("flags\t\t: fpu avx2", torch.float32, True),
        ("Features\t: fp asimd fphp asimdhp", torch.float16, True),
        ("nothing\t: known", torch.bfloat16, True),
    ],
)
def test_native_types_follow_the_processor_flags(
    line: str, dtype: torch.dtype, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _, value = line.partition(":")
    monkeypatch.setattr(
        module, "cpu_line", lambda asked: value.strip() if name.strip() == asked else ""
    )
    assert computes_natively(dtype) == native


def test_threads_never_outnumber_the_cores_of_the_process() -> None:
    assert 1 <= physical_cores() <= (os.cpu_count() or 1)
