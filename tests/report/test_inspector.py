"""The inspector's blocks: what the page's script finds in them."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

from flybench.records.folder import RunFolder
from flybench.report.inspector import BREAK, CHUNK, blocks
from flybench.report.run import load
from tests.helpers.spelled import WORDS, write_spelled
from tests.helpers.synthetic import write_run

Found = dict[str, Any]


def found(*runs: RunFolder) -> Found:
    packed = {block.id: base64.b64decode(block.data) for block in blocks(load(runs))}
    return {name: json.loads(zlib.decompress(data)) for name, data in packed.items()}


def test_index_says_what_the_list_filters_by(tmp_path: Path) -> None:
    index = found(write_spelled(tmp_path / "run", 5, lose=[1]))["inspector-index"]
    [arm], [group] = index["arms"], index["groups"]
    assert group["ids"] == [f"sums/{i:03}" for i in range(5)]
    assert group["categories"] == ["even", "odd", "even", "odd", "even"]
    assert arm["flip"] == [0, -1, 0, 0, 0]
    assert arm["samples"] == list(range(5))
    assert arm["rule"] == {"rule": "official", "window": 6, "theta": 0.3}


def test_an_answer_is_whole(tmp_path: Path) -> None:
    run = write_spelled(tmp_path / "run", 2, words=[" a", "b\u202e"])
    answers = found(run)["inspector-0-0"][0]
    own, ar = (answers["answers"][number] for number in answers["arms"][0])
    turn = run.records()["sums/000", "fly"].turns[0]
    pieces = own["pieces"].split(BREAK)
    assert len(pieces) == len(own["outcomes"]) == len(own["margins"]) == len(turn.ids)
    assert "".join(pieces) == turn.text.replace("\u202e", "⟨U+202E⟩")
    assert sum(own["rounds"]) == len(turn.ids) and ar["rounds"] == []
    assert [loose[0] for loose in own["loose"]] == [token.index for token in turn.loose_tokens]
    assert {ord(char) - 48 for char in own["margins"]} == {8}
    assert set(ar["outcomes"]) == {"p"}


def test_chunks_hold_a_few_samples_and_shared_answers_once(tmp_path: Path) -> None:
    runs = [write_spelled(tmp_path / name, CHUNK + 1) for name in ("one", "two")]
    data = found(*runs)
    assert [name for name in data if "-0-" in name] == ["inspector-0-0", "inspector-0-1"]
    first = data["inspector-0-0"]
    assert len(first) == CHUNK and len(data["inspector-0-1"]) == 1
    assert first[0]["arms"][0] == first[0]["arms"][1] and len(first[0]["answers"]) == 2


def test_runs_of_other_tasks_are_apart(tmp_path: Path) -> None:
    runs = [write_spelled(tmp_path / name, 1, task=name) for name in ("one", "two")]
    data = found(*runs)
    assert [arm["group"] for arm in data["inspector-index"]["arms"]] == [0, 1]
    assert {"inspector-0-0", "inspector-1-0"} <= set(data)


def test_a_run_that_does_not_spell_its_tokens_shows_its_text(tmp_path: Path) -> None:
    run = write_spelled(tmp_path / "run", 1, words=WORDS, spell=False)
    answer = found(run)["inspector-0-0"][0]["answers"][0]
    assert answer["pieces"] is None
    assert "⟨U+202E⟩" in answer["text"] and "\u202e" not in answer["text"]


def test_nothing_finished_gives_no_blocks(tmp_path: Path) -> None:
    assert found(write_run(tmp_path / "none", 0)) == {}
    assert found(write_run(tmp_path / "failed", 2, failing="no")) == {}
