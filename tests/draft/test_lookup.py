"""Prompt lookup against a search of the whole text."""

from __future__ import annotations

import random

import torch

from flybench.draft.base import DraftSetup
from flybench.draft.lookup import LookupDrafter, NgramIndex
from flybench.sampling import Sampling


def searched(ids: list[int], longest: int, shortest: int, count: int) -> list[int]:
    """What followed the most recent earlier occurrence of the longest end of `ids`."""
    for size in range(longest, shortest - 1, -1):
        if size > len(ids):
            continue
        for end in range(len(ids) - 1, size - 1, -1):
            if ids[end - size : end] == ids[len(ids) - size :]:
                return ids[end : end + count]
    return []


def test_agrees_with_a_search_while_the_text_grows_and_shrinks() -> None:
    rng = random.Random(1)
    found = 0
    for _ in range(150):
        shortest = rng.randint(1, 3)
        longest = rng.randint(shortest, 4)
        index, ids = NgramIndex(longest, shortest), []
        for _ in range(30):
            if ids and rng.random() < 0.3:
                ids = ids[: rng.randint(0, len(ids))]
                index.truncate(len(ids))
            more = [rng.randrange(3) for _ in range(rng.randint(0, 5))]
            ids = ids + more
            index.extend(more)
            count = rng.randint(1, 6)
            expected = searched(ids, longest, shortest, count)
            assert index.follow(count) == expected, (ids, longest, shortest)
            assert len(index) == len(ids)
            found += bool(expected)
    assert found > 1000


def test_longest_match_wins_over_a_more_recent_short_one() -> None:
    index = NgramIndex(2, 1)
    index.extend([1, 2, 7, 2, 8, 1, 2])
    assert index.follow(1) == [7]


def test_most_recent_of_equal_matches_wins() -> None:
    index = NgramIndex(1, 1)
    index.extend([1, 7, 1, 8, 1])
    assert index.follow(3) == [8, 1]


def test_no_end_finds_itself() -> None:
    index = NgramIndex(3, 1)
    index.extend([1, 2, 3])
    assert index.follow(4) == []


def test_drafter_proposes_from_prompt_and_answer() -> None:
    drafter = LookupDrafter(DraftSetup(torch.device("cpu"), 8, Sampling()), 3, 1)
    drafter.start([1, 2, 3, 4], None, None)
    assert drafter.propose([1, 2, 3, 4], 5).tokens.tolist() == []
    draft = drafter.propose([1, 2, 3, 4, 9, 2, 3], 3)
    assert draft.tokens.tolist() == [4, 9, 2]
    assert draft.tokens.dtype == torch.long
    assert draft.probs is None


def test_drafter_never_exceeds_the_limit() -> None:
    drafter = LookupDrafter(DraftSetup(torch.device("cpu"), 8, Sampling()), 3, 1)
    context = [1, 2, 3, 4, 5, 6, 1]
    for limit in (1, 2, 6, 100):
        drafter.start(context, None, None)
        assert drafter.propose(context, limit).tokens.tolist() == [2, 3, 4, 5, 6, 1][:limit]


def test_a_new_sample_starts_cold() -> None:
    drafter = LookupDrafter(DraftSetup(torch.device("cpu"), 8, Sampling()), 3, 1)
    drafter.start([1, 2, 1], None, None)
    assert len(drafter.propose([1, 2, 1], 3)) > 0
    drafter.start([5, 1], None, None)
    assert len(drafter.propose([5, 1], 3)) == 0
