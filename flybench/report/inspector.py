"""Compressed data of the token inspector: all answers token by token, embedded in the page.

The index contains everything that the sample list shows and filters by. Answers are stored in
chunks of a few samples, each with the answers of all runs. Opening a sample decompresses only one
chunk, and shared answers (mainly AR's) are stored once. All text is escaped by `visible` here, and
templates/inspector.js only inserts it as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from flybench.config import BASELINE
from flybench.core.samples import Generation, Record
from flybench.metrics.divergence import first_divergences
from flybench.records.token_texts import pieces_of, token_outcomes, vocabulary
from flybench.report.run import Arm, Run
from flybench.text import visible

CHUNK = 8  # samples per compressed block
BREAK = "\x1f"  # separator between pieces of an answer; visible text never contains it
MARGIN_STEP = 8  # top-2 gaps are rounded to an eighth and stored as one character
MARGIN_BASE, MARGIN_MOST = 48, 255


class Block(NamedTuple):
    """Compressed JSON that the page embeds under an element id."""

    id: str
    data: str


class Inspected(NamedTuple):
    """One arm with its run and its samples, in the order of the index."""

    run: Run
    arm: Arm
    table: pd.DataFrame


def blocks(runs: Sequence[Run]) -> list[Block]:
    """Return the index followed by the chunks; empty without finished samples."""
    groups: dict[str, list[Inspected]] = {}
    for run in runs:
        for arm in run.shown:
            if len(arm.samples):
                groups.setdefault(run.title, []).append(Inspected(run, arm, _table(run, arm)))
    arms = [each for group in groups.values() for each in group]
    if not arms:
        return []
    ids = [
        sorted({name for each in group for name in each.table.index}) for group in groups.values()
    ]
    index = {
        "chunk": CHUNK,
        "step": MARGIN_STEP,
        "groups": [_group(*each) for each in zip(groups, ids, groups.values(), strict=True)],
        "arms": [
            _arm(each, number, names)
            for number, (group, names) in enumerate(zip(groups.values(), ids, strict=True))
            for each in group
        ],
    }
    built = [_block("index", _json(index))]
    for number, (group, names) in enumerate(zip(groups.values(), ids, strict=True)):
        built += _chunks(number, [ArmAnswers(each) for each in group], names)
    return built


def _block(name: str, text: str) -> Block:
    return Block(f"inspector-{name}", base64.b64encode(zlib.compress(text.encode())).decode())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _table(run: Run, arm: Arm) -> pd.DataFrame:
    """Join the arm's samples with AR's; add `flip` (−1 lost, 1 won) and `diverged_at`."""
    table = run.joined(arm).loc[arm.samples.index]
    own = table["pairwise"] if arm.graded else table["correct"]
    other = 0.5 if arm.graded else table["correct_ar"]
    flip = (own > other).astype(int) - (own < other).astype(int)
    first = first_divergences(run.baseline, arm.samples)
    return table.assign(flip=flip, diverged_at=first["diverged_at"])


def _group(title: str, names: list[str], group: list[Inspected]) -> dict[str, Any]:
    categories: dict[str, str] = {}
    for each in group:
        categories |= {str(name): str(value) for name, value in each.table["category"].items()}
    return {
        "title": visible(title),
        "ids": [visible(name) for name in names],
        "categories": [visible(categories[name]) for name in names],
    }


def _arm(each: Inspected, group: int, names: list[str]) -> dict[str, Any]:
    table, indices = each.table, {name: index for index, name in enumerate(names)}
    method = each.run.provenance.get("method_config") or {}
    rule = method.get("verify") if isinstance(method, dict) else None
    shown = {name: rule[name] for name in ("rule", "window", "theta") if rule and name in rule}
    return {
        "label": visible(each.arm.label),
        "method": visible(each.arm.method),
        "baseline": each.arm.method == BASELINE,
        "group": group,
        "temperature": (each.run.provenance.get("sampling") or {}).get("temperature") or 0,
        "rule": {name: visible(value) for name, value in shown.items()},
        "samples": [indices[name] for name in table.index],
        "flip": [int(value) for value in table["flip"]],
        "divergedAt": _numbers(table["diverged_at"]),
        "loose": _numbers(table["loose"]),
        "tokens": _numbers(table["tokens"]),
        "right": _numbers(table["correct"]),
        "rightAr": _numbers(table["correct_ar"]),
    }


def _numbers(column: pd.Series) -> list[float | int | None]:
    """Convert to JSON numbers: integers where exact, None for NaN."""
    return [
        None if value != value else int(value) if value == int(value) else round(value, 3)
        for value in column.tolist()
    ]


class VisiblePieces(dict[str, str]):
    """Visible form of each piece, computed once per piece."""

    def __missing__(self, piece: str) -> str:
        self[piece] = visible(piece)
        return self[piece]


class ArmAnswers:
    """An arm's answers as JSON, decoded with the vocabulary of its run."""

    def __init__(self, inspected: Inspected) -> None:
        self._run, self._arm = inspected.run, inspected.arm
        self._records = inspected.run.folder.records()
        self._shown = VisiblePieces()

    @cached_property
    def _vocabulary(self) -> dict[int, str]:
        return vocabulary(self._run.folder)

    def pair(self, name: str, encoded: dict[int, str]) -> Iterator[str | None]:
        """Yield the method's answer to a sample and AR's; None if missing or failed.

        `encoded` caches answers by the identity of their record, because runs may share AR's.
        """
        for method in (self._arm.method, BASELINE):
            record = self._records.get((name, method))
            if record is None or record.error:
                yield None
                continue
            if id(record) not in encoded:
                encoded[id(record)] = self._answer(record)
            yield encoded[id(record)]

    def _answer(self, record: Record) -> str:
        turns, starts = record.turns, [0]
        for turn in turns:
            starts.append(starts[-1] + len(turn.ids))
        texts = [self._text(turn) for turn in turns]
        whole = all(text is not None for text in texts)
        answer = {
            "pieces": BREAK.join(text for text in texts if text is not None) if whole else None,
            "text": None if whole else visible("\n\n".join(turn.text for turn in turns)),
            "outcomes": "".join(map(token_outcomes, turns)),
            "margins": _margins([margin for turn in turns for margin in turn.margins]),
            "loose": [
                loose
                for turn, start in zip(turns, starts, strict=False)
                for loose in _loose(turn, start)
            ],
            "rounds": [round_.emitted for turn in turns for round_ in turn.rounds]
            if record.method != BASELINE
            else [],
            "turns": starts[1:-1],
            "finish": ", ".join(dict.fromkeys(turn.finish for turn in turns)),
            "seconds": round(sum(turn.total_s for turn in turns), 3),
            "decoding": round(sum(turn.decode_s for turn in turns), 3),
        }
        return _json(answer)

    def _text(self, turn: Generation) -> str | None:
        """Visible pieces of an answer; None if the run does not record its vocabulary."""
        pieces = pieces_of(turn, self._vocabulary)
        if pieces is None:
            return None
        return BREAK.join(map(self._shown.__getitem__, pieces))


def _margins(margins: list[float]) -> str:
    steps = np.rint(np.nan_to_num(np.asarray(margins)) * MARGIN_STEP)
    return (
        (np.clip(steps, 0, MARGIN_MOST) + MARGIN_BASE).astype("<u4").tobytes().decode("utf-32-le")
    )


def _loose(turn: Generation, start: int) -> Iterator[list[Any]]:
    """Yield index, top-1 text, p(token), p(top-1), rank, entropy, class and text of each token."""
    for token in turn.loose_tokens:
        statistics = token.statistics
        yield [
            start + token.index,
            visible(token.top1_text),
            statistics.probability,
            statistics.max_probability,
            statistics.rank,
            statistics.entropy,
            turn.token_class(token),
            visible(token.text),
        ]


def _chunks(group: int, arms: list[ArmAnswers], names: list[str]) -> Iterator[Block]:
    """Yield blocks of `CHUNK` samples with their distinct answers and, by arm, the indices of its
    answer and AR's.
    """
    for start in range(0, len(names), CHUNK):
        samples = []
        for name in names[start : start + CHUNK]:
            kept: dict[str, int] = {}
            encoded: dict[int, str] = {}
            pairs = [
                [
                    None if text is None else kept.setdefault(text, len(kept))
                    for text in arm.pair(name, encoded)
                ]
                for arm in arms
            ]
            samples.append(f'{{"arms":{_json(pairs)},"answers":[{",".join(kept)}]}}')
        yield _block(f"{group}-{start // CHUNK}", f"[{','.join(samples)}]")


def script_hash(source: str) -> str:
    """Return the hash of a script for the content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
