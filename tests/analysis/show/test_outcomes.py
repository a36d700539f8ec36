"""The fate of every emitted token, from a round's letters."""

from __future__ import annotations

import pytest
from msgspec import structs

from flybench.analysis.show.outcomes import BONUS, EXACT, KINDS, PLAIN, Kind, codes, kinds
from flybench.core.samples import Generation, Round


def round_(outcomes: str, accepted: int, emitted: int) -> Round:
    loose = outcomes[:accepted].count("l")
    return Round(len(outcomes), accepted, loose, emitted, outcomes, 0.0, 0.0, 0.0)


def answer(*rounds: Round) -> Generation:
    count = sum(each.emitted for each in rounds)
    ids = list(range(count))
    return Generation(1, ids, "", "eos", [1.0] * count, list(rounds), 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("given", "expected", "letters"),
    [
        (round_("", 0, 1), [PLAIN], "·"),
        (round_("eee", 3, 4), [EXACT, EXACT, EXACT, BONUS], "eeeᵇ"),
        (round_("elg..", 2, 3), [EXACT, KINDS["l"], KINDS["g"]], "elᵍ"),
        (round_("w...", 0, 1), [KINDS["w"]], "ʷ"),
        (round_("et..", 1, 2), [EXACT, KINDS["t"]], "eᵗ"),
        (round_("ssr.", 2, 3), [KINDS["s"], KINDS["s"], KINDS["r"]], "ssʳ"),
        # A tree's accepted nodes lie among its branches; what is tried below the last comes after.
        (round_("rer.re", 2, 3), [EXACT, EXACT, BONUS], "eeᵇ"),
        (round_("rer.er", 2, 3), [EXACT, EXACT, KINDS["r"]], "eeʳ"),
        # The answer ended inside the draft.
        (round_("eeee", 2, 2), [EXACT, EXACT], "ee"),
    ],
)
def test_a_round(given: Round, expected: list[Kind], letters: str) -> None:
    assert kinds(answer(given)) == expected
    assert codes(given) == letters


def test_every_token_has_one_kind() -> None:
    whole = answer(round_("elg..", 2, 3), round_("", 0, 1), round_("eeee", 4, 5))
    assert len(kinds(whole)) == len(whole.ids)
    assert kinds(structs.replace(whole, rounds=[])) == []


def test_no_kind_is_told_by_colour_alone() -> None:
    """But what needs no attention: the target's own choice, drafted or not."""
    marked = [kind for kind in KINDS.values() if kind not in (EXACT, PLAIN)]
    assert all(kind.before for kind in marked)
    assert len({kind.before for kind in marked}) == len(marked)
