"""Text and fate of every token, from rounds and a vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest

from flybench.core.samples import Generation, Round
from flybench.records.token_texts import pieces_of, token_outcomes, vocabulary, write_pieces
from tests.helpers.synthetic import write_run

BYTES = {1: "I", 2: " saw", 3: "\ufffd", 4: "\ufffd", 5: " there", 6: "<end>", 7: " I"}


def turn(text: str, ids: list[int], *rounds: tuple[int, int, str]) -> Generation:
    """An answer of rounds (accepted, emitted, fates)."""
    made = [Round(len(f), kept, 0, emitted, f, 0, 0, 0) for kept, emitted, f in rounds]
    return Generation(1, ids, text, "eos", [], made, 0, 0, 0)


@pytest.mark.parametrize(
    ("round_", "letters"),
    [
        ((0, 1, ""), "p"),
        ((3, 4, "ele"), "eleb"),
        ((2, 3, "elg."), "elg"),
        ((1, 2, "sr.."), "sr"),
        ((0, 1, "t..."), "t"),
        ((2, 2, "eeee"), "ee"),  # cut off: the rest of the draft and the bonus are not kept
        ((2, 3, "rer.errr"), "eer"),  # a tree, whose path goes over its second and fifth node
    ],
)
def test_a_letter_for_every_token(round_: tuple[int, int, str], letters: str) -> None:
    assert token_outcomes(turn("", [], round_)) == letters


@pytest.mark.parametrize(
    ("text", "ids", "pieces"),
    [
        ("I saw there", [1, 2, 5, 6], ["I", " saw", " there", "<end>"]),
        ("I saw", [1, 2, 5], ["I", " saw", " there"]),  # cut before a stop string
        ("I saw", [7, 2], ["I", " saw"]),  # a blank that the tokenizer drops at the start
        ("I☃ there", [1, 3, 4, 3, 5], ["I", "☃", "", "", " there"]),
        ("I☃", [1, 3, 4, 6], ["I", "☃", "", "<end>"]),
        ("I saw it", [1, 2, 5], None),
        ("I saw", [1, 99], None),
    ],
)
def test_pieces_make_up_the_text(text: str, ids: list[int], pieces: list[str] | None) -> None:
    assert pieces_of(turn(text, ids), BYTES) == pieces


def test_every_id_is_spelled_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 2)
    spelled: list[list[int]] = []

    def spell(ids: list[int]) -> str:  # as a tokenizer that drops a blank at the start
        spelled.append(list(ids))
        return "".join(f" {token}" for token in ids).lstrip()

    write_pieces(run, spell)  # type: ignore[arg-type]
    used = {t for r in run.records().values() for answer in r.turns for t in answer.ids}
    assert vocabulary(run) == {token: f" {token}" for token in used}
    count = len(spelled)
    write_pieces(run, spell)  # type: ignore[arg-type]
    assert len(spelled) == count


def test_a_folder_without_pieces_has_no_vocabulary(tmp_path: Path) -> None:
    assert vocabulary(write_run(tmp_path / "run", 1)) == {}
