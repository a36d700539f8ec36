"""Growing a tree: against a slow search over every path, and its invariants."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from flybench.core.drafts import Branches
from flybench.draft.tree import Level, grow_tree

VOCAB = 11


class TableHead:
    """Logits depend on the path: a table for each, made when it is first asked for."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.tables: dict[tuple[int, ...], Tensor] = {}

    def logits(self, path: tuple[int, ...]) -> Tensor:
        if path not in self.tables:
            self.tables[path] = 2 * torch.randn(VOCAB, generator=self.generator)
        return self.tables[path]


def grown(head: TableHead, nodes: int, depth: int, top_k: int) -> list[tuple[int, ...]]:
    """The paths of all nodes; a feature is the number of the path that led to it."""
    paths: list[tuple[int, ...]] = [()]

    def expand(number: int, level: Level) -> tuple[Tensor, Tensor]:
        assert level.seen.shape == (top_k, (number + 1) * top_k)
        assert level.seen.sum(1).tolist() == [number + 1] * top_k
        first = len(paths)
        for token, feature in zip(level.ids.tolist(), level.features[:, 0].tolist(), strict=True):
            paths.append((*paths[int(feature)], token))
        features = torch.arange(first, len(paths)).float()[:, None]
        return features, torch.stack([head.logits(path) for path in paths[first:]])

    start = torch.zeros(1)
    tokens, parents = grow_tree(start, head.logits(()), expand, nodes, depth, top_k)
    found: list[tuple[int, ...]] = []
    for token, parent in zip(tokens.tolist(), parents.tolist(), strict=True):
        assert parent < len(found)
        found.append((*(found[parent] if parent >= 0 else ()), token))
    return found


def searched(head: TableHead, nodes: int, depth: int, top_k: int) -> list[tuple[int, ...]]:
    """The same by sorted lists of paths and scores."""

    def children(path: tuple[int, ...], score: float) -> list[tuple[float, tuple[int, ...]]]:
        dist = head.logits(path).log_softmax(-1)
        best = dist.topk(top_k)
        return [
            (score + float(p), (*path, int(token)))
            for p, token in zip(best.values, best.indices, strict=True)
        ]

    frontier = children((), 0.0)
    every = list(frontier)
    for _ in range(depth):
        level = [child for score, path in frontier for child in children(path, score)]
        every += level
        frontier = sorted(level, reverse=True)[:top_k]
    return [path for _, path in sorted(every, reverse=True)[:nodes]]


@pytest.mark.parametrize(
    ("nodes", "depth", "top_k"), [(1, 1, 1), (7, 1, 3), (20, 3, 4), (59, 5, 10), (200, 2, 5)]
)
def test_a_grown_tree_holds_the_likeliest_paths(nodes: int, depth: int, top_k: int) -> None:
    for seed in range(5):
        head = TableHead(seed)
        ours, slow = (way(head, nodes, depth, top_k) for way in (grown, searched))
        assert sorted(ours) == sorted(slow)
        assert len(set(ours)) == len(ours)


def test_a_certain_draft_keeps_parents() -> None:
    """Every probability is 0 or 1, so that scores would tie along the path."""

    def expand(number: int, level: Level) -> tuple[Tensor, Tensor]:
        return level.features, torch.full((2, VOCAB), -1e9).index_fill(1, torch.tensor([3]), 0)

    logits = torch.full((VOCAB,), -1e9).index_fill(0, torch.tensor([3]), 0)
    tokens, parents = grow_tree(torch.zeros(1), logits, expand, 3, 4, 2)
    assert tokens.tolist() == [3, 3, 3]
    assert parents.tolist() == [-1, 0, 1]


def test_branches_of_a_tree_and_of_a_chain() -> None:
    paths = [{0}, {1}, {0, 2}, {0, 2, 3}, {1, 4}, {0, 2, 3, 5}]
    branches = Branches.of(torch.tensor([-1, -1, 0, 2, 1, 3]))
    assert [set(row.nonzero()[:, 0].tolist()) for row in branches.ancestors] == paths
    for size in (0, 1, 2, 9):
        chain = Branches.of(torch.arange(-1, size - 1))
        assert torch.equal(chain.ancestors, torch.ones(size, size).tril().bool())
