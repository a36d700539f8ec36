"""Verdicts on trees: the one matching path when greedy, the target's distribution if sampled."""

from __future__ import annotations

import itertools

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from flybench.core.drafts import Branches, Draft, TargetView
from flybench.core.verdicts import Decision
from flybench.sampling import Sampling
from flybench.verify.exact import ExactVerifier
from flybench.verify.rejection import RejectionVerifier

#        root → 0 (token 1) → 2 (token 0), 3 (token 4)
#             → 1 (token 2) → 4 (token 2) → 5 (token 3)
PARENTS = torch.tensor([-1, -1, 0, 0, 1, 4])
TOKENS = torch.tensor([1, 2, 0, 4, 2, 3])
VOCAB = 5
DRAFT = Draft(TOKENS, PARENTS, branches=Branches.of(PARENTS))


def choosing(*tokens: int) -> TargetView:
    """A view whose favourite after the root and after each node is given."""
    return TargetView.of(torch.nn.functional.one_hot(torch.tensor(tokens), VOCAB).float())


def decided(view: TargetView) -> Decision:
    return ExactVerifier().judge(DRAFT, view, Sampling(), None).fetch(DRAFT, view)


def test_the_path_that_the_target_would_have_taken_is_kept() -> None:
    found = decided(choosing(2, 0, 2, 0, 0, 3, 1))
    assert found.nodes == [1, 4, 5]
    assert found.tokens == [2, 2, 3, 1]
    assert found.outcomes == "re..ee"
    assert found.path == [1, 4, 5]


def test_a_later_match_behind_a_mismatch_does_not_count() -> None:
    found = decided(choosing(1, 3, 2, 0, 0, 3, 1))
    assert (found.nodes, found.tokens, found.outcomes) == ([0], [1, 3], "errr..")


def test_no_branch_matches() -> None:
    found = decided(choosing(4, 0, 2, 0, 0, 3, 1))
    assert (found.nodes, found.tokens, found.outcomes) == ([], [4], "rr....")


def test_a_tree_without_branches_is_judged_as_the_chain() -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        tokens = torch.randint(3, (6,), generator=generator)
        view = TargetView.of(torch.randn(7, 3, generator=generator))
        chain = Draft.chain(tokens)
        tree = Draft(tokens, chain.parents, branches=Branches.of(chain.parents))
        ours, plain = (
            ExactVerifier().judge(draft, view, Sampling(), None).fetch(draft, view)
            for draft in (tree, chain)
        )
        assert ours == plain


@pytest.mark.parametrize("draws", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_sampled_tokens_follow_the_target_distribution(draws: int) -> None:
    """Joint distribution of the first two emitted tokens over many verdicts, with top-p."""
    logits = torch.randn(7, VOCAB, generator=torch.Generator().manual_seed(3))
    view, sampling = TargetView.of(logits), Sampling(0.7, top_p=0.95)
    dist = sampling.warp(logits.double())
    after = {(): 0, (1,): 1, (2,): 2}  # rows of the nodes whose children are counted
    counts = dict.fromkeys(itertools.product(range(VOCAB), range(VOCAB)), 0)
    generator = torch.Generator().manual_seed(0)
    for _ in range(draws):
        verdict = RejectionVerifier().judge(DRAFT, view, sampling, generator)
        tokens = verdict.fetch(DRAFT, view).tokens
        if len(tokens) == 1:  # the next round draws from the target after this token
            assert tokens[0] not in (1, 2)
            tokens = [*tokens, int(torch.randint(VOCAB, (), generator=generator))]
        counts[tokens[0], tokens[1]] += 1
    expected = {
        pair: draws * float(dist[0, pair[0]] * _second(dist, after, pair)) for pair in counts
    }
    possible = [pair for pair, count in expected.items() if count]
    assert all(not counts[pair] for pair in counts if pair not in possible)
    found = chisquare([counts[pair] for pair in possible], [expected[pair] for pair in possible])
    assert found.pvalue > 0.001


def _second(dist: Tensor, after: dict[tuple[int, ...], int], pair: tuple[int, int]) -> Tensor:
    row = after.get((pair[0],))
    return torch.tensor(1 / VOCAB) if row is None else dist[row, pair[1]]
