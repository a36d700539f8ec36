"""Runs whose answers are spelled token by token, with the target's opinion of every loose token."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from flybench.core.samples import Generation, LooseToken, TargetStatistics
from flybench.records.folder import RunFolder
from flybench.records.token_texts import PIECES, token_outcomes
from tests.helpers.synthetic import PROVENANCE, write_run

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\u200b"
WORDS = (" the", "\n", " sum", HOSTILE, " is", "\t", " Paris", "\n\n", "ing", " 42")
PREFERRED = "<b>instead</b>\u202e"


def write_spelled(
    path: Path, n: int, words: Sequence[str] = WORDS, spell: bool = True, **options: Any
) -> RunFolder:
    """As `write_run`; the text of token i is that of `words` in turn. Without `spell` the folder
    does not say so, as old ones do not."""
    rule = {"kind": "fly", "rule": "official", "theta": 0.3, "window": 6}
    config = PROVENANCE["method_config"] | {"verify": rule}
    run = write_run(path, n, method_config=config, **options)
    for record in run.records().values():
        run.append(structs.replace(record, turns=[_spelled(turn, words) for turn in record.turns]))
    if spell:
        known = {token: words[token % len(words)] for token in range(1000)}
        run.write(PIECES, json.dumps(known))
    return run


def _spelled(turn: Generation, words: Sequence[str]) -> Generation:
    pieces = [words[token % len(words)] for token in turn.ids]
    statistics = TargetStatistics(7, 0.25, 0.5, 2, 1.25)
    loose_tokens = [
        LooseToken(place, statistics, pieces[place], PREFERRED, len("".join(pieces[:place])))
        for place, letter in enumerate(token_outcomes(turn))
        if letter == "l"
    ]
    return structs.replace(turn, text="".join(pieces), loose_tokens=loose_tokens)
