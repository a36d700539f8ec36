"""Where an answer ends, decided one token at a time on the whole text so far."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence


def truncate(
    ids: Sequence[int],
    eos_ids: Collection[int],
    cap: int,
    stops: Sequence[str],
    detokenize: Callable[[Sequence[int]], str],
) -> tuple[list[int], str | None]:
    """The ids to keep of an endless answer, and why it ends there (None if it does not)."""
    answer: list[int] = []
    for token in ids:
        answer.append(token)
        if token in eos_ids:
            return answer, "eos"
        text = detokenize(answer)
        if any(stop in text for stop in stops):
            return answer, "stop"
        if len(answer) == cap:
            return answer, "length"
    return answer, None
