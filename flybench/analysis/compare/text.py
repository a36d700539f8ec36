"""Text of a comparison, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

from flybench.analysis.compare.figures import Accuracy, ComparedFigure, Divergence
from flybench.analysis.compare.gates import Gate
from flybench.text import NONE, aligned, percent, shorten, visible

WIDE, WIDTH = 24, 80


class Comparison(NamedTuple):
    """The results of a comparison; `notes` give the reasons for missing parts."""

    a: Path
    b: Path
    methods: tuple[str, str]
    title: str
    shared: int
    changes: list[tuple[str, str, str]]
    figures: Mapping[str, ComparedFigure]
    accuracy: Accuracy | None
    divergence: Divergence
    notes: list[str]
    gates: list[Gate]


def text(found: Comparison) -> str:
    """Return the runs, their differences, the figures, sentences and the gates as text."""
    return str(visible("\n".join(_lines(found))))


def _lines(found: Comparison) -> Iterator[str]:
    yield f"A  {found.methods[0]}  {found.a}"
    yield f"B  {found.methods[1]}  {found.b}"
    yield f"{found.shared} shared samples: {found.title}"
    if found.changes:
        rows = [[shorten(cell, WIDE) for cell in row] for row in found.changes]
        yield "\n" + aligned([["differs", "A", "B"], *rows], left=3)
    yield "\n" + aligned([["", "A", "B", "B against A"], *_table(found)])
    yield "  Above 1: B is faster, or has the larger figure.\n"
    for sentence in _sentences(found):
        yield _wrapped(sentence)
    if found.gates:
        yield ""
    for gate in found.gates:
        yield _wrapped(f"{gate.claim}: {gate.state.upper()}: {gate.text}.")


def _table(found: Comparison) -> Iterator[list[str]]:
    for name, figure in found.figures.items():
        yield [name, *map(_number, (figure.a, figure.b)), figure.estimate.text()]
    if (known := found.accuracy) is None:
        return
    if known.pairs is None:
        sides = [percent(points / known.n) for points in (known.right_a, known.right_b)]
    else:
        sides = [f"{right:.4g}/{known.n}" for right in (known.right_a, known.right_b)]
    few = f"too few (n={known.right_a:g})"
    kept = known.retention.estimate.text() if known.resolvable else few
    yield ["right answers" if known.pairs else "mean grade", *sides, kept]


def _sentences(found: Comparison) -> Iterator[str]:
    known = found.accuracy
    if known is not None and known.pairs is not None:
        both, lost, won, neither = known.pairs
        yield (
            f"Right in both: {both}; only in A: {lost}; only in B: {won}; in neither: {neither}; "
            f"exact McNemar p = {known.p:.2g}."
        )
    apart = found.divergence
    line = f"{apart.equal} of {apart.n} answers have equal ids"
    if apart.median_place is not None:
        line += f"; the others diverge at token {apart.median_place:g} (median)"
        line += f", {apart.ties} of them at a near tie of A's two best tokens"
    yield f"{line}."
    yield from found.notes


def _wrapped(sentence: str) -> str:
    """Wrap a sentence without breaking its paths."""
    return fill(sentence, WIDTH, break_on_hyphens=False, break_long_words=False)


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.4g}"
