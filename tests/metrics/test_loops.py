"""Loops in answers, against a slow count."""

from __future__ import annotations

import random

import pytest

from flybench.metrics.divergence import MAX_NGRAM, MIN_COPIES, MIN_LOOP, looped

FRESH = list(range(1000, 1100))


def slowly(ids: list[int]) -> int:
    """Every stretch that copies of its own beginning fill, tried one by one."""
    inside = set()
    for start in range(len(ids)):
        for size in range(1, MAX_NGRAM + 1):
            end = start + size
            while end < len(ids) and ids[end] == ids[end - size]:
                end += 1
            if end - start >= max(MIN_COPIES * size, MIN_LOOP):
                inside |= {*range(start, end)}
    return len(inside)


@pytest.mark.parametrize(
    ("ids", "count"),
    [
        ([], 0),
        (FRESH, 0),
        ([7] * MIN_LOOP, MIN_LOOP),
        ([7] * (MIN_LOOP - 1), 0),
        ([*FRESH, *[1, 2, 3] * 8, 1], 25),  # the last copy is cut off
        ([*FRESH[:10], *FRESH[:10], *FRESH[:10]], 0),  # three copies are verses
        (FRESH[:10] * 4, 40),
        ([*[1, 2] * 12, *FRESH, *[3] * 30], 54),
        (FRESH[: MAX_NGRAM + 1] * 5, 0),
    ],
)
def test_tokens_in_loops(ids: list[int], count: int) -> None:
    assert looped(ids) == count


def test_a_count_by_hand_agrees_on_random_texts() -> None:
    rng = random.Random(1)
    found = 0
    for _ in range(60):
        parts = [rng.choices(range(3), k=rng.randrange(1, 9)) * rng.randrange(1, 9) for _ in "ab"]
        ids = [token for part in parts for token in part]
        assert looped(ids) == slowly(ids)
        found += looped(ids) > 0
    assert found > 10
