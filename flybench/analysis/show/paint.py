"""Text for a terminal: escaped first, then marked, then coloured where colours are wanted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TextIO

from flybench.analysis.show.outcomes import KINDS, Kind
from flybench.text import visible


def coloured(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour: on a terminal that can, unless NO_COLOR is set (no-color.org)."""
    able = stream.isatty() and environment.get("TERM") != "dumb"
    return able and not environment.get("NO_COLOR")


def safe(text: str) -> str:
    """Text of which nothing acts on the terminal; newlines and tabs stay."""
    return str(visible(text))


def line(text: str) -> str:
    """The same within one line."""
    return safe(text).replace("\n", "⏎").replace("\t", "⇥")


def painted(text: str, kind: Kind, colour: bool) -> str:
    """A token with its marks inside the white space around it, so that words stay words.

    Where it is nothing but white space, its marks hold signs for it.
    """
    shown = safe(text)
    core = shown.strip()
    if not core and (kind.before or kind.after):
        return _sgr(f"{kind.before}{line(shown)}{kind.after}", kind, colour) + "\n" * shown.count(
            "\n"
        )
    head, _, tail = shown.partition(core) if core else ("", "", shown)
    return head + _sgr(f"{kind.before}{core}{kind.after}", kind, colour) + tail


def legend(found: Iterable[Kind], colour: bool) -> str:
    """One line for each kind that occurs, in the order of `KINDS`."""
    used = list(dict.fromkeys(found))
    ordered = [kind for kind in KINDS.values() if kind in used]
    ordered += [kind for kind in used if kind not in ordered]
    return "\n".join(
        f"  {_sgr(f'{kind.before}token{kind.after}', kind, colour)}  {kind.meaning}"
        for kind in ordered
    )


def _sgr(text: str, kind: Kind, colour: bool) -> str:
    return f"\x1b[{kind.colour}m{text}\x1b[0m" if colour and kind.colour and text else text
