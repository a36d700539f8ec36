"""One sample of a run: figures, the answer by fate, its loose tokens, and AR's beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flybench.analysis.show import body
from flybench.analysis.show.paint import legend, line, safe
from flybench.analysis.show.parting import Parting, parting
from flybench.config import BASELINE, BASELINES
from flybench.core.samples import Generation, Record, Score
from flybench.records.token_texts import Vocabulary, pieces_of
from flybench.text import NONE, aligned, number, shorten

REASON = 50
TOKEN = 14
UNSPELLED = (
    "The run has no pieces.json that spells these tokens; its `flybench run` adds one. Without\n"
    "it only loose tokens are placed, where the record says where. By round: a letter a drafted\n"
    "token that was kept (e exact, l loose, s sampled), then the target's own token (ᵇ after a\n"
    "whole draft; ᵍ gate, ʷ window, ᵗ tail, ʳ other correction; · no draft):"
)


class Arm(NamedTuple):
    """What a run holds of one sample under one method."""

    record: Record
    score: Score | None


def answer(own: Arm, plain: Arm | None, known: Vocabulary, colour: bool) -> str:
    """Everything on a sample; `plain` is AR's arm where the run has one beside it, `known` spells
    their tokens."""
    arms = [arm for arm in (plain, own) if arm is not None]
    record = own.record
    head = f"{record.sample_id} ({record.category})"
    parts = [line(head), _figures(arms)]
    if record.error is not None:
        return "\n\n".join([*parts, safe(f"{record.method} failed: {record.error}")])
    theirs = plain.record.turns if plain is not None and not plain.record.error else []
    for turn, generation in enumerate(record.turns):
        beside = theirs[turn] if turn < len(theirs) else None
        title = f"turn {turn + 1}, " if len(record.turns) > 1 else ""
        parts += _turn(title, record.method, generation, beside, known, colour)
    return "\n\n".join(parts)


def _figures(arms: list[Arm]) -> str:
    columns = [_column(arm) for arm in arms]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    return aligned(rows)


def _column(arm: Arm) -> dict[str, str]:
    record, score, turns = arm.record, arm.score, arm.record.turns
    tokens = sum(len(turn.ids) for turn in turns)
    rounds = [round_ for turn in turns for round_ in turn.rounds]
    total = sum(turn.total_s for turn in turns)
    decode = sum(turn.decode_s for turn in turns)
    correct = None if score is None else score.correct
    reason = score.reason.strip().splitlines() if score and score.reason.strip() else [NONE]
    return {
        "": line(record.method),
        "score": NONE if correct is None else f"{correct:g}",
        "reason": shorten(line(reason[-1]), REASON // 2),
        "tokens": f"{tokens:,}",
        "finish": ", ".join(turn.finish for turn in turns) or "failed",
        "seconds to answer": number(total, 3),
        "tokens/s": number(tokens / decode if decode else None, 0),
        "tau": number(tokens / len(rounds) if rounds else None),
        "loose tokens": str(sum(round_.loose for round_ in rounds)),
    }


def _turn(
    title: str,
    method: str,
    own: Generation,
    plain: Generation | None,
    known: Vocabulary,
    colour: bool,
) -> Iterator[str]:
    spelled = pieces_of(own, known)
    theirs = None if plain is None else pieces_of(plain, known)
    apart = None if plain is None else parting(own, plain, spelled, theirs)
    place = None if apart is None else apart.place
    if plain is None:
        told = ""
    else:
        told = f"; {body.PARTS} {apart.text}" if apart else "; the same ids as AR's"
    yield f"--- {title}{line(method)}{told}"
    if spelled is None:
        yield body.loose_alone(own, place, colour)
    else:
        yield body.whole(own, spelled, place, colour)
    yield from _key(method, own, spelled, colour)
    if own.loose_tokens:
        yield _loose(own)
    if plain is not None and apart is not None:
        yield _beside(plain, apart, colour)


def _key(method: str, own: Generation, spelled: list[str] | None, colour: bool) -> Iterator[str]:
    if found := body.found_kinds(own, spelled):
        yield legend(found, colour)
    if spelled is None and method not in BASELINES:
        yield f"{UNSPELLED}\n{body.rounds(own)}"


def _loose(turn: Generation) -> str:
    head = ["token", "kept", "preferred", "p", "its p", "rank", "entropy", "class"]
    rows = [
        [
            str(token.index),
            shorten(repr(token.text), TOKEN),
            shorten(repr(token.top1_text), TOKEN),
            number(token.statistics.probability, 3),
            number(token.statistics.max_probability, 3),
            str(token.statistics.rank),
            number(token.statistics.entropy),
            turn.token_class(token),
        ]
        for token in turn.loose_tokens
    ]
    return (
        "Loose tokens: what was kept, what the target preferred, the probabilities of both, the\n"
        "rank of the kept one, the entropy in nats\n" + aligned([head, *rows], left=3)
    )


def _beside(plain: Generation, apart: Parting, colour: bool) -> str:
    return (
        f"--- {BASELINE}, the same up to {body.PARTS}, from that line on\n\n"
        + body.from_parting(plain, apart.place, colour)
    )
