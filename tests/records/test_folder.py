"""A run's folder survives kills, and gives back what was written."""

from __future__ import annotations

import json
import lzma
import math
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from flybench.core.errors import FlybenchError
from flybench.core.samples import (
    Generation,
    GpuState,
    LooseToken,
    Record,
    Round,
    Score,
    TargetStatistics,
    Telemetry,
)
from flybench.records.folder import RunFolder
from tests.helpers.toys import assert_one_sentence

ROUND = Round(5, 2, 1, 3, "elw..", 0.25, 0.5, 0.125)
LOOSE = [LooseToken(1, TargetStatistics(9, 0.25, 0.5, 2, 1.5), " é", "\u2028")]
TURN = Generation(
    7, [1, 2, 257], 'né €\u2028\n"x"', "eos", [0.5, 1e-6, 2.0], [ROUND] * 2, 1, 2, 3, LOOSE
)
RECORD = Record(
    "s/1", "fly", "maths", 1, "ab" * 32, [TURN, structs.replace(TURN, ids=[])], 123, None
)
CARD = GpuState(0, 1755, 2619, 650.5, 61, ["sw_power_cap"], 250.25)
FAILED = Record("s/2", "ar", "", 0, "", error="out of memory: é")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def test_a_record_comes_back_as_it_went(folder: RunFolder) -> None:
    folder.append(RECORD)
    folder.append(FAILED)
    assert folder.records() == {("s/1", "fly"): RECORD, ("s/2", "ar"): FAILED}
    assert isinstance(folder.records()["s/1", "fly"].turns[0].rounds[0], Round)


def test_records_of_before_loose_tokens_were_kept_are_read(folder: RunFolder) -> None:
    folder.append(RECORD)
    text = folder.records_file.read_text()
    row = json.loads(text)
    for turn in row["turns"]:
        del turn["loosened"]
    folder.records_file.write_text(json.dumps(row) + "\n")
    assert folder.records()["s/1", "fly"].turns[0] == structs.replace(TURN, loose_tokens=[])


@pytest.mark.parametrize(
    "impossible",
    [
        {"total_s": -1.0},
        {"total_s": 1.0, "prefill_s": 2.0},
        {"total_s": math.nan},
        {"total_s": "fast"},
        {"text": None},
        {"rounds": [msgspec.to_builtins(ROUND) | {"accepted": 6}]},
    ],
)
def test_figures_that_cannot_be_are_refused(
    folder: RunFolder, impossible: dict[str, object]
) -> None:
    folder.append(RECORD)
    row = json.loads(folder.records_file.read_text())
    row["turns"][0] |= impossible
    folder.records_file.write_text(json.dumps(row) + "\n")
    with pytest.raises(FlybenchError) as caught:
        folder.records()
    assert_one_sentence(caught.value, "line 1", "remove that line")


def test_a_record_is_one_line(folder: RunFolder) -> None:
    folder.append(RECORD)
    text = folder.records_file.read_text(encoding="utf-8")
    assert text.splitlines(keepends=True) == [text]
    assert text.endswith("\n")
    assert json.loads(text)["turns"][0]["text"] == TURN.text


def test_half_a_character_survives(folder: RunFolder) -> None:
    """A tokenizer may hand out a lone surrogate, which no encoding can write as it is."""
    record = structs.replace(RECORD, turns=[structs.replace(TURN, text="a\ud83d")])
    folder.append(record)
    assert folder.records()["s/1", "fly"] == record
    folder.write_scores([Score("a", "ar", 1.0, {}, "\ud83d")])
    assert folder.scores()["a", "ar"].extracted == "\ud83d"


def test_an_infinite_margin_survives(folder: RunFolder) -> None:
    record = structs.replace(RECORD, turns=[structs.replace(TURN, margins=[math.inf])])
    folder.append(record)
    assert folder.records()["s/1", "fly"] == record


def test_telemetry_comes_back_as_it_went(folder: RunFolder) -> None:
    silent = GpuState(1, None, None, None, None, None, None)
    record = structs.replace(RECORD, telemetry=Telemetry([CARD, silent]))
    folder.append(record)
    assert folder.records() == {("s/1", "fly"): record}


def test_a_record_without_telemetry_still_loads(folder: RunFolder) -> None:
    folder.append(RECORD)
    row = json.loads(folder.records_file.read_text(encoding="utf-8"))
    del row["telemetry"]
    folder.records_file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert folder.records() == {("s/1", "fly"): RECORD}


def test_the_last_invocation_is_amended(folder: RunFolder) -> None:
    provenance = dict.fromkeys(("model", "task", "device", "engine", "retention_margin"), "x")
    folder.write_json("provenance.json", provenance | {"invocations": [{"n": 1}, {"n": 2}]})
    folder.amend_invocation(costs={"a": None})
    amended = [{"n": 1}, {"n": 2, "costs": {"a": None}}]
    assert folder.provenance() == provenance | {"invocations": amended}


def test_figures_are_kept_to_a_millionth(folder: RunFolder) -> None:
    exact = structs.replace(TURN, margins=[1 / 3, math.inf], total_s=1.23456789)
    folder.append(structs.replace(RECORD, turns=[exact]))
    (turn,) = folder.records()["s/1", "fly"].turns
    assert turn.margins == [0.333333, math.inf]
    assert turn.total_s == 1.234568


def pack(folder: RunFolder) -> Path:
    """What `xz records.jsonl` does."""
    packed = folder.path / "records.jsonl.xz"
    packed.write_bytes(lzma.compress(folder.records_file.read_bytes()))
    folder.records_file.unlink()
    return packed


def test_packed_records_are_read_and_added_to(folder: RunFolder) -> None:
    folder.append(RECORD)
    pack(folder)
    assert folder.records() == {("s/1", "fly"): RECORD}
    assert folder.repair() is False
    folder.append(FAILED)
    assert folder.records() == {("s/1", "fly"): RECORD, ("s/2", "ar"): FAILED}


@pytest.mark.parametrize("damage", ["cut", "no archive", "half a record"])
def test_damaged_packed_records_are_named(folder: RunFolder, damage: str) -> None:
    folder.append(RECORD)
    packed = pack(folder)
    if damage == "cut":
        packed.write_bytes(packed.read_bytes()[:-40])
    elif damage == "no archive":
        packed.write_bytes(b"records")
    else:
        packed.write_bytes(lzma.compress(b'{"sample_id": 1}\n'))
    with pytest.raises(FlybenchError) as caught:
        folder.records()
    assert_one_sentence(caught.value)
    assert "records.jsonl.xz" in str(caught.value)


def test_an_empty_folder_has_no_records_and_no_scores(folder: RunFolder) -> None:
    assert folder.records() == {}
    assert folder.scores() == {}
    assert folder.repair() is False


def test_the_last_record_of_a_key_wins(folder: RunFolder) -> None:
    folder.append(structs.replace(RECORD, turns=[], error="first try"))
    folder.append(FAILED)
    folder.append(RECORD)
    assert folder.records()["s/1", "fly"] == RECORD
    assert len(folder.records()) == 2


def test_methods_of_one_sample_are_kept_apart(folder: RunFolder) -> None:
    folder.append(RECORD)
    folder.append(structs.replace(RECORD, method="ar"))
    assert set(folder.records()) == {("s/1", "fly"), ("s/1", "ar")}


def test_a_line_cut_anywhere_is_ignored_and_then_repaired(folder: RunFolder) -> None:
    folder.append(FAILED)
    whole = folder.records_file.read_bytes()
    folder.append(RECORD)
    line = folder.records_file.read_bytes().removeprefix(whole)
    for cut in range(1, len(line)):
        folder.records_file.write_bytes(whole + line[:cut])
        assert list(folder.records()) == [("s/2", "ar")], line[:cut][-20:]
        assert folder.repair() is True
        assert folder.records_file.read_bytes() == whole
    folder.append(RECORD)
    assert len(folder.records()) == 2


def test_a_single_half_line_is_repaired_to_nothing(folder: RunFolder) -> None:
    folder.records_file.write_bytes(b'{"sample')
    assert folder.records() == {}
    assert folder.repair() is True
    assert folder.records_file.read_bytes() == b""


def test_a_whole_file_needs_no_repair(folder: RunFolder) -> None:
    folder.append(RECORD)
    before = folder.records_file.read_bytes()
    assert folder.repair() is False
    assert folder.records_file.read_bytes() == before


def test_a_corrupt_line_in_the_middle_is_named(folder: RunFolder) -> None:
    folder.append(FAILED)
    with folder.records_file.open("a") as stream:
        stream.write('{"sample_id": "s/1", "meth\n')
    folder.append(RECORD)
    with pytest.raises(FlybenchError) as caught:
        folder.records()
    assert_one_sentence(caught.value, str(folder.records_file), "line 2 ", "remove that line")


@pytest.mark.parametrize("line", ['{"sample_id": "s/1"}', "[]", '{"turns": [], "new_field": 1}'])
def test_a_line_that_is_no_record_is_named(folder: RunFolder, line: str) -> None:
    folder.append(FAILED)
    with folder.records_file.open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(FlybenchError) as caught:
        folder.records()
    assert_one_sentence(caught.value, "line 2 ")


def test_scores_are_replaced_as_a_whole(folder: RunFolder) -> None:
    first = [Score("a", "ar", 1.0, {"strict": 1.0}, "18", ""), Score("b", "ar", None, {})]
    folder.write_scores(first)
    assert folder.scores() == {("a", "ar"): first[0], ("b", "ar"): first[1]}
    folder.write_scores(first[:1])
    assert list(folder.scores()) == [("a", "ar")]
    folder.write_scores([])
    assert folder.scores() == {}


def test_a_write_that_fails_leaves_the_old_file(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("summary.json", "old")

    def full(self: Path, text: str, **kwargs: object) -> int:
        with self.open("w") as stream:
            stream.write(text[:1])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space"):
        folder.write("summary.json", "new")
    monkeypatch.undo()
    assert (folder.path / "summary.json").read_text() == "old"


def test_write_makes_the_folder(tmp_path: Path) -> None:
    RunFolder(tmp_path / "a" / "b").write_json("x.json", {"é": [1, None]})
    assert RunFolder(tmp_path / "a" / "b").read_json("x.json") == {"é": [1, None]}
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == ["x.json"]


def test_a_missing_json_file_is_none(folder: RunFolder) -> None:
    assert folder.read_json("provenance.json") is None


def test_only_a_folder_with_a_config_is_a_run(tmp_path: Path) -> None:
    with pytest.raises(FlybenchError) as caught:
        RunFolder.existing(tmp_path)
    assert_one_sentence(caught.value, str(tmp_path), "config.yaml", "flybench run")
    (tmp_path / "config.yaml").touch()
    assert RunFolder.existing(tmp_path).path == tmp_path
