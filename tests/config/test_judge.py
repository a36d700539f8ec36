"""Settings of a judge that cannot work are refused, and no refusal repeats a secret."""

from __future__ import annotations

import pytest

from flybench.config import JudgeConfig, RunConfig
from flybench.config.compose import cells, choose_judge, parse_request
from flybench.core.errors import FlybenchError
from tests.helpers.toys import assert_one_sentence


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kind": "opnai"}, "did you mean openai"),
        ({"kind": "none", "model": "m"}, "add judge=openai"),
        ({"kind": "openai"}, "add judge.model"),
        ({"kind": "openai", "model": "m", "temperature": -1.0}, "judge.temperature=-1"),
        ({"kind": "openai", "model": "m", "retries": -1}, "judge.retries=-1"),
        ({"kind": "openai", "model": "m", "concurrency": 0}, "judge.concurrency=0"),
        ({"kind": "openai", "model": "m", "timeout": 0.0}, "judge.timeout=0"),
        ({"kind": "openai", "model": "m", "input_price": float("nan")}, "judge.input_price"),
        ({"kind": "openai", "model": "m", "base_url": "api.openai.com"}, "judge.base_url"),
        ({"kind": "openai", "model": "m", "base_url": "http://a:99999999/v1"}, "judge.base_url"),
        ({"kind": "local", "model": "m", "temperature": 1.0}, "greedily"),
        ({"kind": "local", "model": "m", "dtype": "fp8"}, "judge.dtype=fp8"),
    ],
)
def test_refusals(settings: dict[str, object], said: str) -> None:
    with pytest.raises(FlybenchError) as caught:
        JudgeConfig(**settings)  # type: ignore[arg-type]
    assert_one_sentence(caught.value, said)


@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": "https://me:hunter2@example.org/v1"},
        {"base_url": "https://example.org/v1?key=hunter2"},
        {"key_env": "sk-hunter2"},
        {"key_env": "hunter2" * 20},
    ],
)
def test_a_secret_in_the_wrong_place_is_refused_and_not_repeated(settings: dict[str, str]) -> None:
    with pytest.raises(FlybenchError) as caught:
        JudgeConfig("openai", "m", **settings)
    assert_one_sentence(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_loopback(host: str) -> None:
    assert JudgeConfig("openai", "m", f"http://{host}:8000/v1").loopback
    assert not JudgeConfig("openai", "m", "http://10.0.0.1:8000/v1").loopback


def test_cost_needs_both_prices_and_both_counts() -> None:
    priced = JudgeConfig("openai", "m", input_price=2.0, output_price=8.0)
    assert priced.cost(1_000_000, 500_000) == 6.0
    assert priced.cost(None, 5) is None
    assert JudgeConfig("openai", "m", input_price=2.0).cost(1, 1) is None


def configured(*arguments: str) -> RunConfig:
    (config,) = cells(parse_request(["model=random", "method=fly", *arguments]))
    return config


def test_a_judge_is_no_part_of_what_decides_the_tokens() -> None:
    judged = configured("judge=openai", "judge.model=m")
    assert judged.judge.model == "m"
    assert judged.identity() == configured().identity()


def test_a_judge_shares_no_process_with_ranks() -> None:
    with pytest.raises(FlybenchError) as caught:
        configured("judge=local", "judge.model=m", "engine.tp=2")
    assert_one_sentence(caught.value, "flybench score")


def test_a_run_without_the_group_has_no_judge() -> None:
    assert configured().judge.kind == "none"


def test_overrides_change_a_runs_own_judge_or_choose_another() -> None:
    own = JudgeConfig("openai", "m", key_env="MINE", retries=2)
    assert choose_judge(parse_request([]), own) == own
    assert choose_judge(parse_request(["judge.model=n"]), own).key_env == "MINE"
    assert choose_judge(parse_request(["judge=local", "judge.model=n"]), own).kind == "local"
    assert choose_judge(parse_request(["judge=none"]), own).kind == "none"
    for wrong in ("limit=3", "task=mt_bench", "judge.modl=x", "judge=opnai", "judge=openai"):
        with pytest.raises(FlybenchError) as caught:
            choose_judge(parse_request([wrong]), own)
        assert_one_sentence(caught.value)
