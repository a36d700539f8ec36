"""The client against a real server on loopback: retries, refusals, nonsense, and the key."""

from __future__ import annotations

import json

import pytest

from flybench.config import JudgeConfig
from flybench.core.errors import FlybenchError
from flybench.score.judge.base import CallFailed, Reply
from flybench.score.judge.endpoint import EndpointJudge
from tests.helpers.endpoints import Answer, endpoint
from tests.helpers.toys import assert_one_sentence

ASKED = ({"role": "user", "content": "Grade it."},)
KEY = "sk-hunter2-hunter2"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def judge(base_url: str, **settings: object) -> EndpointJudge:
    options = {"key_env": "JUDGE_KEY", "retries": 2, "timeout": 5.0} | settings
    return EndpointJudge(JudgeConfig("openai", "toy", base_url, **options))  # type: ignore[arg-type]


def test_an_answer_with_its_tokens() -> None:
    with endpoint(lambda number, prompt: Answer()) as server:
        found = judge(server.base_url, max_new_tokens=33).ask(ASKED)
    assert found == Reply("Fine.\nGrade: 7", "stop", 100, 10)
    (body,) = server.bodies
    assert body["messages"] == list(ASKED)
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("toy", 33, 0)
    assert server.keys == [f"Bearer {KEY}"]


def test_the_temperature_may_be_left_to_the_endpoint() -> None:
    with endpoint(lambda number, prompt: Answer()) as server:
        judge(server.base_url, temperature=None).ask(ASKED)
    assert "temperature" not in server.bodies[0]


COUNTED = {
    "choices": [{"message": {"content": "Grade: 7"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": "10", "completion_tokens": "2"},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "bad",
    [
        Answer(status=429, body="{}"),
        Answer(status=500, body="oh"),
        Answer(status=503, body=""),
        Answer(body="<html>"),
        Answer(body='{"choices": []}'),
        Answer(body="[1]"),
        Answer(body='{"choices": [{"message": {"content": [{"text": "Grade: 7"}]}}]}'),
        Answer(body=json.dumps(COUNTED)),
    ],
)
def test_what_may_heal_is_tried_again(bad: Answer) -> None:
    with endpoint(lambda number, prompt: Answer() if number else bad) as server:
        assert judge(server.base_url).ask(ASKED).text == "Fine.\nGrade: 7"
    assert len(server.bodies) == 2
    assert server.times[1] - server.times[0] > 0.2, "it waits before it asks again"


@pytest.mark.slow
def test_the_server_says_how_long_to_wait() -> None:
    slow = Answer(status=429, body="{}", headers={"retry-after": "1.5"})
    with endpoint(lambda number, prompt: Answer() if number else slow) as server:
        judge(server.base_url).ask(ASKED)
    assert 1.5 <= server.times[1] - server.times[0] < 4


@pytest.mark.parametrize("bad", [Answer(status=500, body="oh"), Answer(body="<html>")])
def test_patience_ends(bad: Answer) -> None:
    with endpoint(lambda number, prompt: bad) as server, pytest.raises(CallFailed):
        judge(server.base_url, retries=1).ask(ASKED)
    assert len(server.bodies) == 2


def test_what_cannot_heal_is_asked_once() -> None:
    too_long = Answer(status=400, body='{"error": {"message": "too many tokens"}}')
    with endpoint(lambda number, prompt: too_long) as server:
        one = judge(server.base_url)
        for _ in range(2):  # the next question may be shorter
            with pytest.raises(CallFailed, match="HTTP 400.*too many tokens"):
                one.ask(ASKED)
    assert len(server.bodies) == 2


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_for_good_ends_the_asking(status: int) -> None:
    body = '{"error": {"message": "no ' + KEY + '"}}'
    with endpoint(lambda number, prompt: Answer(status=status, body=body)) as server:
        one = judge(server.base_url)
        for _ in range(2):
            with pytest.raises(CallFailed) as caught:
                one.ask(ASKED)
            assert "hunter2" not in str(caught.value)
    assert len(server.bodies) == 1


def test_a_key_that_a_server_repeats_is_taken_out() -> None:
    said = Answer(status=400, body='{"error": {"message": "bad key ' + KEY + '"}}')
    with endpoint(lambda number, prompt: said) as server, pytest.raises(CallFailed) as caught:
        judge(server.base_url).ask(ASKED)
    assert "bad key <key>" in str(caught.value)


@pytest.mark.parametrize("models", [200, 404, 500])
def test_any_answer_is_a_sign_of_life(models: int) -> None:
    with endpoint(lambda number, prompt: Answer(), models) as server:
        judge(server.base_url).check()
    assert not server.bodies


def test_a_refused_key_is_told_beforehand() -> None:
    with (
        endpoint(lambda number, prompt: Answer(), 401) as server,
        pytest.raises(FlybenchError) as caught,
    ):
        judge(server.base_url).check()
    assert_one_sentence(caught.value, "rejected the key in JUDGE_KEY")
    assert KEY not in str(caught.value)


def test_nobody_there_is_told_beforehand() -> None:
    with pytest.raises(FlybenchError) as caught:
        judge("http://127.0.0.1:9/v1").check()
    assert_one_sentence(caught.value, "http://127.0.0.1:9/v1", "judge.base_url")


def test_a_missing_key_matters_away_from_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_KEY")
    with pytest.raises(FlybenchError) as caught:
        judge("https://judge.invalid/v1").check()
    assert_one_sentence(caught.value, "JUDGE_KEY", "judge.key_env=null")
    with endpoint(lambda number, prompt: Answer()) as server:
        judge(server.base_url).check()


def test_the_key_decides_no_verdict() -> None:
    identity = judge("http://127.0.0.1:9/v1").identity
    assert identity == judge("http://127.0.0.1:9/v1", key_env=None, retries=9).identity
    assert identity != judge("http://127.0.0.1:9/v1", temperature=1.0).identity
    assert KEY not in str(identity)
