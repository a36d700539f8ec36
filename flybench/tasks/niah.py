"""RULER's `niah_multivalue` (needle in a haystack with several values), from generated texts.

Source: RULER (arXiv 2404.06654). One key has four values scattered through a long text, and the
question asks for all of them. Haystack, keys and values are generated from the sample index, so no
data are downloaded, and no model was trained on them. An answer is correct if it has every value;
the fraction of values is a metric.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

from flybench.config import TaskConfig
from flybench.core.declare import task
from flybench.core.samples import Prompt, Record, Score
from flybench.tasks.base import Judged, RowTask, row_of
from flybench.tasks.extract.numbers import SEPARATOR
from flybench.tasks.extract.thoughts import answer_text

SAMPLES, VALUES = 100, 4
TOKENS_PER_WORD = 1.13  # of such text, in a vocabulary of 50,000 tokens
PLACES = (
    *("harbour", "orchard", "archive", "lighthouse", "quarry", "greenhouse", "mill", "observatory"),
    *("ferry", "chapel", "workshop", "library", "vineyard", "dairy", "foundry", "signal box"),
)
PEOPLE = (
    *("the warden", "a baker", "the surveyor", "two sisters", "the night clerk", "a carpenter"),
    *("the gardener", "an apprentice", "the postman", "a retired pilot", "the bell ringer"),
)
ACTIONS = (
    *("repaired a window of", "painted the door of", "walked past", "drew a plan of", "swept"),
    *("told a story about", "forgot an umbrella in", "found an old map of", "sold apples near"),
    *("counted the steps of", "read a newspaper beside", "waited for the bus in front of"),
)
TIMES = (
    *("before breakfast", "on a rainy Tuesday", "late in the evening", "as the fog lifted"),
    *("in the first week of May", "while the bells rang", "after the market had closed"),
)
COLOURS = ("amber", "crimson", "violet", "silver", "emerald", "ivory", "scarlet", "indigo")
ANIMALS = ("heron", "badger", "falcon", "otter", "lynx", "raven", "marten", "osprey", "weasel")
THOUSANDS = re.compile(rf"(?<=\d){SEPARATOR}(?=\d{{3}}(?!\d))")
NEEDLE = "One of the entry codes of the {key} is {value}."
QUESTION = (
    "Somewhere in the following text stand several entry codes of the {key}. Remember them.\n\n"
    "{text}\n\nWhat are all the entry codes of the {key} that the text gives? Reply with the codes "
    "alone, separated by commas."
)


@task("niah")
class NiahTask(RowTask):
    """`SAMPLES` texts of about `task.length` tokens."""

    judged: Judged = "scored"
    runs_code = False

    def __init__(self, config: TaskConfig) -> None:
        assert config.length is not None, "its configuration refuses to lack one"
        self._config = config
        self._rows = {
            f"{config.name}/{config.length}/{number}": haystack(config.length, number)
            for number in range(SAMPLES)
        }

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        return [
            Prompt(
                sample_id=sample_id,
                messages=({"role": "user", "content": QUESTION.format(**row)},),
                category=f"{self._config.length} tokens",
                max_new_tokens=self._config.max_new_tokens,
            )
            for sample_id, row in list(self._rows.items())[:count]
        ]

    def score(self, record: Record) -> Score:
        values = row_of(self._rows, record)["values"]
        said = set(re.findall(r"\d+", THOUSANDS.sub("", answer_text(record))))
        named = [value for value in values if value in said]
        share = len(named) / len(values)
        metrics = {"all": float(share == 1), "recall": share}
        return Score(record.sample_id, record.method, metrics["all"], metrics, ", ".join(named))


def haystack(tokens: int, number: int) -> dict[str, Any]:
    """Return the `number`-th text of about so many tokens, its key and its values."""
    rng = random.Random(f"{tokens} {number}")
    key = f"{rng.choice(COLOURS)} {rng.choice(ANIMALS)}"
    # More digits than any year or number in the haystack.
    values = [str(value) for value in rng.sample(range(1_000_000, 10_000_000), VALUES)]
    needles = [NEEDLE.format(key=key, value=value) for value in values]
    frame = QUESTION.format(key=key, text=" ".join(needles))
    left = tokens / TOKENS_PER_WORD - len(frame.split())
    sentences: list[str] = []
    while left > 0:
        sentences.append(_sentence(rng))
        left -= len(sentences[-1].split())
    for needle in needles:
        sentences.insert(rng.randrange(len(sentences) + 1), needle)
    return {"key": key, "values": values, "text": " ".join(sentences)}


def _sentence(rng: random.Random) -> str:
    who, what, where, when = (rng.choice(words) for words in (PEOPLE, ACTIONS, PLACES, TIMES))
    said = f"{who} {what} the {where} {when}."
    return said[0].upper() + said[1:]
