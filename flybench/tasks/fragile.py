"""Questions whose answers become incorrect if a single token is wrong, to test loose rules.

240 items in eight groups, generated from their index and scored exactly: numbers that differ in
one digit, negations, units, similar names, strings and identifiers to copy, JSON that must parse,
and sums in which an early error propagates. None needs knowledge beyond the question, so small
models can solve them.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from flybench.config import TaskConfig
from flybench.core.declare import task
from flybench.core.samples import Prompt, Record, Score
from flybench.tasks.base import Judged, RowTask, row_of
from flybench.tasks.extract.numbers import as_number, final_number, final_number_text
from flybench.tasks.extract.thoughts import answer_text

ITEMS_PER_GROUP = 30  # items of a group
COLOURS = ("red", "blue", "green", "white", "black", "yellow", "orange", "purple")
ALIKE = (
    ("Claire Reed", "Clare Read", "Clair Reid"),
    ("Sara Allan", "Sarah Allen", "Zara Alan"),
    ("Stephen Philips", "Steven Phillips", "Stefan Philipps"),
    ("Jon Browne", "John Brown", "Jhon Braun"),
    ("Ann Thomson", "Anne Thompson", "Anna Tompson"),
    ("Erik Meyer", "Eric Mayer", "Erich Maier"),
)
UNITS = (("metres", "centimetres", 100), ("kilograms", "grams", 1000), ("hours", "minutes", 60))
# An identifier: a word with an underscore, a digit, or a capital after a lower-case letter.
CODE_WORD = re.compile(r"\b(?=\w*(?:[\d_]|[a-z][A-Z]))\w+")
CITIES = ("Oslo", "Porto", "Lima", "Kyoto", "Tunis", "Quito")


class Item(NamedTuple):
    """A question, the rule that reads its answer (a key of `READ`), and the answer."""

    question: str
    rule: str
    answer: str


def digits(rng: random.Random) -> Item:
    first = rng.randrange(10_000, 99_000)
    numbers = [first, *(first + rng.choice([-1, 1]) * 10**place for place in range(4))]
    amounts = [rng.randrange(1000, 10_000) for _ in numbers]
    lines = [f"Invoice {n}: {a} euros" for n, a in zip(numbers, amounts, strict=True)]
    rng.shuffle(lines)
    asked = f"\n\nWhat is the amount of invoice {first}? Reply with the number alone."
    return Item("\n".join(lines) + asked, "number", str(amounts[0]))


def negations(rng: random.Random) -> Item:
    colours = rng.sample(COLOURS, 5)
    lit = [rng.random() < 0.5 for _ in colours]
    lit[:2] = [True, False]
    lamps = zip(colours, lit, strict=True)
    said = [f"The {colour} lamp is {'' if on else 'not '}lit." for colour, on in lamps]
    rng.shuffle(said)
    asked = " Which lamps are not lit? Reply with their colours alone, separated by commas."
    dark = [colour for colour, on in zip(colours, lit, strict=True) if not on]
    return Item(" ".join(said) + asked, "colours", " ".join(sorted(dark)))


def units(rng: random.Random) -> Item:
    large, small, factor = rng.choice(UNITS)
    amount = rng.randrange(2, 40)
    asked = f"How many {small} are {amount} {large}? Reply with the number alone."
    return Item(f"One of the {large} is {factor} {small}. {asked}", "number", str(amount * factor))


def names(rng: random.Random) -> Item:
    people = list(rng.choice(ALIKE))
    rooms = rng.sample(range(100, 1000), len(people))
    wanted, room = people[0], rooms[0]
    lines = [f"{who} sits in room {where}." for who, where in zip(people, rooms, strict=True)]
    rng.shuffle(lines)
    asked = f" In which room does {wanted} sit? Reply with the number alone."
    return Item(" ".join(lines) + asked, "number", str(room))


def copies(rng: random.Random) -> Item:
    text = "".join(rng.choices(string.ascii_letters + string.digits, k=24))
    return Item(f"Repeat this key exactly, and write nothing else: {text}", "exact", text)


def identifiers(rng: random.Random) -> Item:
    kind = rng.choice(["total", "count", "index", "limit", "offset"])
    variants = [f"{kind}_value", f"{kind}Value", f"{kind}_values", f"{kind}_val", f"value_{kind}"]
    rng.shuffle(variants)
    lines = [f"    {name} = {rng.randrange(100)}" for name in variants]
    code = "\n".join(["def work():", *lines, f"    return {variants[0]}"])
    asked = "Which variable does this function return? Reply with its name alone."
    return Item(f"```python\n{code}\n```\n\n{asked}", "exact", variants[0])


def records(rng: random.Random) -> Item:
    wanted = {
        "city": rng.choice(CITIES),
        "code": f"{rng.choice(string.ascii_uppercase)}{rng.randrange(10, 100)}",
        "open": rng.random() < 0.5,
        "floors": rng.randrange(2, 40),
    }
    said = ", ".join(f"{key} is {json.dumps(value)}" for key, value in wanted.items())
    asked = f"Write a JSON object with these four keys: {said}. Reply with the JSON alone."
    return Item(asked, "json", json.dumps(wanted))


def chains(rng: random.Random) -> Item:
    total = rng.randrange(40, 90)
    said = [f"A box holds {total} coins."]
    for _ in range(4):
        change = rng.randrange(2, 10)
        more = rng.random() < 0.5
        total += change if more else -change
        said.append(f"{change} are {'put in' if more else 'taken out'}.")
    said.append("How many coins are in it now? Work step by step, and end with the number.")
    return Item(" ".join(said), "number", str(total))


GROUPS: dict[str, Callable[[random.Random], Item]] = {
    function.__name__: function
    for function in (digits, negations, units, names, copies, identifiers, records, chains)
}


class Reading(NamedTuple):
    """Return the fact that an answer states, verbatim, and whether it is correct."""

    right: bool
    found: str | None = None


def _number(text: str, item: Item) -> Reading:
    return Reading(final_number(text) == as_number(item.answer), final_number_text(text))


def _exact(text: str, item: Item) -> Reading:
    """Return the last of the keys or identifiers in the question, as with numbers."""
    offered = set(CODE_WORD.findall(item.question))
    named = [word for word in CODE_WORD.findall(text) if word in offered]
    return Reading(named[-1:] == [item.answer], named[-1] if named else None)


def _colours(text: str, item: Item) -> Reading:
    words = [word for word in re.finditer(r"[a-z]+", text.lower()) if word.group() in COLOURS]
    right = {word.group() for word in words} == set(item.answer.split())
    return Reading(right, text[words[0].start() : words[-1].end()] if words else None)


def _json(text: str, item: Item) -> Reading:
    """Return the first object; a value of another type (1 for true) or a duplicate key is wrong."""
    start = text.find("{")
    reader = json.JSONDecoder(object_pairs_hook=lambda pairs: ("object", sorted(pairs)))
    try:
        found, length = reader.raw_decode(text[max(start, 0) :])
        right = start >= 0 and repr(found) == repr(reader.decode(item.answer))
    except (ValueError, TypeError, RecursionError):
        return Reading(False)
    return Reading(right, text[start : start + length] if start >= 0 else None)


READ: dict[str, Callable[[str, Item], Reading]] = {
    "number": _number,
    "exact": _exact,
    "colours": _colours,
    "json": _json,
}


@task("fragile")
class FragileTask(RowTask):
    """The items of all groups, interleaved: a prefix has some of each."""

    judged: Judged = "scored"
    runs_code = False

    def __init__(self, config: TaskConfig) -> None:
        self._config = config
        self._rows: dict[str, dict[str, Any]] = {
            f"{group}-{number:02}": make(random.Random(f"{group} {number}"))._asdict()
            for number in range(ITEMS_PER_GROUP)
            for group, make in GROUPS.items()
        }

    def prompts(self, count: int | None = None) -> Sequence[Prompt]:
        return [
            Prompt(
                sample_id=sample_id,
                messages=({"role": "user", "content": row["question"]},),
                category=sample_id.partition("-")[0],
                max_new_tokens=self._config.max_new_tokens,
            )
            for sample_id, row in islice(self._rows.items(), count)
        ]

    def score(self, record: Record) -> Score:
        row, text = row_of(self._rows, record), answer_text(record)
        reading = READ[row["rule"]](text, Item(**row))
        right = float(reading.right)
        reason = "" if right else f"not {row['answer']}"
        return Score(
            record.sample_id, record.method, right, {"exact": right}, reading.found, reason
        )
