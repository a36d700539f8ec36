"""One sample of a run with AR's answer for comparison, and the list of samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from flybench.analysis.show import body
from flybench.analysis.show.outcomes import escaped, legend, one_line
from flybench.config import BASELINE, BASELINES
from flybench.core.samples import Generation, Record, Score
from flybench.metrics.divergence import first_divergences
from flybench.records.token_texts import Vocabulary, pieces_of
from flybench.text import NONE, aligned, number, shorten

NAME = 28
REASON = 25
TOKEN = 14
FLIPS = {-1.0: "▼ lost", 1.0: "▲ won"}
NO_TEXTS = (
    "The run has no pieces.json with the texts of these tokens; its `flybench run` adds one.\n"
    "Without it only loose tokens are marked, if the record has their offset. By round: a\n"
    "letter for each accepted token (e exact, l loose, s sampled), then the target's own token\n"
    "(ᵇ after a whole draft; ᵍ gate, ʷ window, ᵗ tail, ʳ other correction; · no draft):"
)


class MethodAnswer(NamedTuple):
    """The record and the score of one sample under one method."""

    record: Record
    score: Score | None


def list_samples(own: pd.DataFrame, baseline: pd.DataFrame) -> str:
    """Return one line for each finished sample, flips first, then the most loose tokens.

    Both frames are those of `sample_frame`; AR's may be empty.
    """
    table = own.join(baseline, rsuffix="_ar").join(first_divergences(baseline, own))
    change = table["correct"] - table["correct_ar"]
    table["flip"] = np.sign(change.fillna(0.0))
    table["speed"] = table["total_s_ar"] / table["total_s"]
    table["flipped"] = table["flip"] != 0
    order = ["flipped", "flip", "loose"]
    table = table.sort_values(order, ascending=[False, True, False], kind="stable")
    head = ["sample", "flip", "right", "AR", "tokens", "loose", "diverges at", "× as fast"]
    rows = [
        [
            shorten(one_line(str(name)), NAME),
            FLIPS.get(row["flip"], ""),
            *(number(row[column], 0) for column in ("correct", "correct_ar", "tokens", "loose")),
            NONE if pd.isna(row["diverged_at"]) else f"{row['diverged_at']:.0f}",
            number(row["speed"]),
        ]
        for name, row in zip(table.index, table.to_dict("records"), strict=True)
    ]
    return aligned([head, *rows], left=2)


def show_answer(
    own: MethodAnswer, baseline: MethodAnswer | None, vocabulary: Vocabulary, colour: bool
) -> str:
    """Return figures, marked turns and loose tokens of a sample as text.

    `baseline` is AR's answer to the sample, if the run has one; `vocabulary` holds the texts of
    tokens.
    """
    columns = [own] if baseline is None else [baseline, own]
    record = own.record
    parts = [one_line(f"{record.sample_id} ({record.category})"), _figures(columns)]
    if record.error is not None:
        return "\n\n".join([*parts, escaped(f"{record.method} failed: {record.error}")])
    usable = baseline is not None and not baseline.record.error
    theirs = baseline.record.turns if baseline is not None and usable else []
    for index, generation in enumerate(record.turns):
        other = theirs[index] if index < len(theirs) else None
        title = f"turn {index + 1}, " if len(record.turns) > 1 else ""
        parts += _turn(title, record.method, generation, other, vocabulary, colour)
    return "\n\n".join(parts)


def _figures(answers: list[MethodAnswer]) -> str:
    columns = [_column(answer) for answer in answers]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    return aligned(rows)


def _column(answer: MethodAnswer) -> dict[str, str]:
    record, score, turns = answer.record, answer.score, answer.record.turns
    tokens = sum(len(turn.ids) for turn in turns)
    rounds = [round_ for turn in turns for round_ in turn.rounds]
    total = sum(turn.total_s for turn in turns)
    decode = sum(turn.decode_s for turn in turns)
    correct = None if score is None else score.correct
    reason = score.reason.strip().splitlines() if score and score.reason.strip() else [NONE]
    return {
        "": one_line(record.method),
        "score": NONE if correct is None else f"{correct:g}",
        "reason": shorten(one_line(reason[-1]), REASON),
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
    baseline: Generation | None,
    vocabulary: Vocabulary,
    colour: bool,
) -> Iterator[str]:
    texts = pieces_of(own, vocabulary)
    theirs = None if baseline is None else pieces_of(baseline, vocabulary)
    found = None if baseline is None else body.first_difference(own, baseline, texts, theirs)
    offset = None if found is None else found.offset
    note = f"; {body.DIVERGES} {found.text}" if found else "; ids equal to AR's"
    yield f"--- {title}{one_line(method)}{'' if baseline is None else note}"
    if texts is None:
        yield body.marked_loose_tokens(own, offset, colour)
    else:
        yield body.marked_tokens(own, texts, offset, colour)
    if kinds := body.found_kinds(own, texts):
        yield legend(kinds, colour)
    if texts is None and method not in BASELINES:
        yield f"{NO_TEXTS}\n{body.rounds(own)}"
    if own.loose_tokens:
        yield _loose_tokens(own)
    if baseline is not None and offset is not None:
        yield (
            f"--- {BASELINE}, equal up to {body.DIVERGES}, from that line on\n\n"
            + body.from_line_of(baseline, offset, colour)
        )


def _loose_tokens(turn: Generation) -> str:
    head = ["token", "kept", "top-1", "p", "p top-1", "rank", "entropy", "class"]
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
        "Loose tokens: the token that was kept and the target's top-1, the target's probabilities\n"
        "of both, the rank of the kept one, the entropy in nats\n" + aligned([head, *rows], left=3)
    )
