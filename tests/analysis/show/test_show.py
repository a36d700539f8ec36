"""`flybench show`: the list, an answer, mistakes, and a terminal that no model can act on."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from transformers import PreTrainedTokenizerFast

from flybench.analysis.show.answer import MethodAnswer, show_answer
from flybench.analysis.show.outcomes import use_colour
from flybench.cli.main import main
from flybench.core.samples import Generation, LooseToken, Record, Round, Score, TargetStatistics
from flybench.records.folder import RunFolder
from flybench.records.token_texts import PIECES, Vocabulary, write_pieces
from tests.helpers.synthetic import PROVENANCE, write_run

EVIL = "\x1b]0;owned\x07\x1b[2J\r\x08\x9b31m\u202etxt\u200b"


def spoken(tokenizer: PreTrainedTokenizerFast, text: str, *rounds: Round) -> Generation:
    """An answer of the byte tokenizer's ids; without rounds, a plain one."""
    ids = tokenizer.encode(text, add_special_tokens=False)
    each = rounds or tuple(Round(0, 0, 0, 1, "", 0.0, 0.01, 0.0) for _ in ids)
    return Generation(5, ids, text, "eos", [4.0] * len(ids), list(each), 0.1, 0.2, 1.1)


@pytest.fixture
def folder(tmp_path: Path, tokenizer: PreTrainedTokenizerFast) -> RunFolder:
    """`10 cats` of AR, where FLy says `17 cats`, its 7 loose."""
    run = RunFolder(tmp_path / "run")
    run.write("config.yaml", "model: tiny\n")
    run.write_json("provenance.json", PROVENANCE)
    rounds = (Round(5, 2, 1, 3, "elg..", 0.0, 0.1, 0.0), Round(4, 3, 0, 4, "eeew", 0.0, 0.1, 0.0))
    loose = LooseToken(1, TargetStatistics(3, 0.25, 0.5, 2, 1.5), "7", "0", 1)
    own = structs.replace(spoken(tokenizer, "17 cats", *rounds), loose_tokens=[loose])
    for method, turn in (("ar", spoken(tokenizer, "10 cats")), ("fly", own)):
        run.append(Record("sums/1", method, "math", 0, "0" * 64, [turn]))
    write_pieces(run, tokenizer.decode)
    run.write_scores([Score("sums/1", "ar", 1.0, {}), Score("sums/1", "fly", 0.0, {}, "17", "no")])
    return run


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["show", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_every_token_has_its_mark(folder: RunFolder, capsys: Any) -> None:
    said = shown(capsys, folder.path, "sums/1")
    assert "1▶⟦7⟧ᵍ cat" in said
    assert "ʷs" in said
    assert (
        "▶ diverges from AR's at token 1 (AR's two best tokens were 4 apart there: no tie)" in said
    )
    assert "1▶0 cats" in said
    assert re.search(r"1 +'7' +'0' +0\.250 +0\.500 +2 +1\.50 +digit", said)
    assert re.search(r"score +1 +0", said)
    assert "\x1b" not in said, "colours off a terminal"


def test_without_pieces_the_record_places_loose_tokens(folder: RunFolder, capsys: Any) -> None:
    (folder.path / PIECES).unlink()
    said = shown(capsys, folder.path, "sums/1")
    assert "1▶⟦7⟧ cats" in said
    assert "no pieces.json" in said
    assert "elᵍ eeeʷ" in said


@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("spelled", [True, False])
def test_nothing_acts_on_the_terminal(
    tokenizer: PreTrainedTokenizerFast, colour: bool, spelled: bool
) -> None:
    """The only escapes are our own colours, whatever the model, the data and the scorer say."""
    loose = LooseToken(0, TargetStatistics(3, 0.25, 0.5, 2, 1.5), EVIL[:2], EVIL, 0)
    count = len(tokenizer.encode(EVIL, add_special_tokens=False))
    rounds = Round(count, count - 1, 1, count, "l" + "e" * (count - 2) + "g", 0.0, 0.1, 0.0)
    own = structs.replace(spoken(tokenizer, EVIL, rounds), loose_tokens=[loose])
    arm = MethodAnswer(
        Record(EVIL, EVIL, EVIL, 0, "", [own]), Score(EVIL, EVIL, 0.0, {}, EVIL, EVIL)
    )
    plain = MethodAnswer(Record(EVIL, "ar", EVIL, 0, "", [spoken(tokenizer, "x" + EVIL)]), None)
    failed = MethodAnswer(Record(EVIL, EVIL, EVIL, 0, "", error=EVIL), None)
    spell = tokenizer.decode
    known: Vocabulary = {token: spell([token]) for token in set(plain.record.turns[0].ids)}
    for one in (arm, failed):
        said = show_answer(one, plain, known if spelled else {}, colour)
        bare = re.sub(r"\x1b\[(?:0|1;3[0-7]|3[0-7])m", "", said) if colour else said
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", bare)
        assert "⟨U+001B⟩" in bare and "⟨U+202E⟩" in bare


def test_colours_are_for_terminals() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert use_colour(Terminal(), {"TERM": "xterm"})
    assert not use_colour(Terminal(), {"TERM": "xterm", "NO_COLOR": "1"})
    assert not use_colour(Terminal(), {"TERM": "dumb"})
    assert not use_colour(io.StringIO(), {"TERM": "xterm"})


def test_the_list_begins_with_flips_and_loose_answers(tmp_path: Path, capsys: Any) -> None:
    run = write_run(tmp_path / "run", 8, lose=[2, 7])
    names = [line.split()[0] for line in shown(capsys, run.path).splitlines()[1:9]]
    assert names[:2] == ["sums/002", "sums/007"]
    loose = [int(line.split()[4]) for line in shown(capsys, run.path).splitlines()[3:9]]
    assert loose == sorted(loose, reverse=True)
    assert main(["show", str(write_run(tmp_path / "ar", 2, method="ar").path)]) == 0


def test_a_conversation_and_a_failure(tmp_path: Path, capsys: Any) -> None:
    run = write_run(tmp_path / "run", 2)
    lines = [json.loads(line) for line in run.records_file.read_text().splitlines()]
    for line in lines:
        line["turns"] *= 2
    lines[-1] |= {"turns": [], "error": "OutOfMemoryError: no room"}
    run.records_file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "--- turn 2, fly" in shown(capsys, run.path, "sums/000")
    assert "fly failed: OutOfMemoryError: no room" in shown(capsys, run.path, "sums/001")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["RUN", "sums/2"], "(did you mean sums/1)"),
        (["RUN", "sums/1", "--method", "fli"], "it has ar, fly (did you mean fly)"),
        (["sums/1", "RUN"], "must come first"),
        (["nowhere"], "is not a run folder"),
        ([], "the following arguments are required"),
    ],
)
def test_mistakes_are_one_sentence(
    folder: RunFolder, capsys: Any, arguments: list[str], said: str
) -> None:
    given = [str(folder.path) if word == "RUN" else word for word in arguments]
    assert main(["show", *given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_an_empty_run(tmp_path: Path, capsys: Any) -> None:
    run = write_run(tmp_path / "run", 0)
    assert main(["show", str(run.path)]) == 2
    assert "has no records yet" in capsys.readouterr().err
