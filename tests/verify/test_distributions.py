"""What comes out at temperature > 0: the target's distribution, or a named departure from it.

A draw is a whole verdict; two hundred thousand are made at once. The total variation that chance
alone leaves is then near 0.002 for one token of eight words and 0.005 for two.
"""

from __future__ import annotations

import math

import pytest
import torch

from flybench.config import EXACT, VerifyConfig
from flybench.core.drafts import Draft, TargetView
from flybench.core.outcomes import Outcome
from flybench.sampling import Sampling
from flybench.verify import build_rule, build_verifier, fly
from flybench.verify.base import Verifier
from flybench.verify.exact import ExactVerifier
from flybench.verify.fly import FlyVerifier
from flybench.verify.rejection import RejectionVerifier, accept
from tests.oracles.distributions import (
    first_two_tokens,
    frequencies,
    judge_many,
    rounds,
    total_variation,
)

V, DRAWS = 8, 200_000
GENERATOR = torch.Generator().manual_seed(1)
TARGET = torch.randn(V, V, generator=GENERATOR) * 1.5
DRAFT = TARGET + torch.randn(V, V, generator=GENERATOR)
SAMPLING = Sampling(0.9)
DIST = SAMPLING.warp(TARGET)
LOSSLESS = {
    "rejection": RejectionVerifier(),
    "fly theta=inf": FlyVerifier("official", math.inf, 1),
}
CUTS = {"plain": SAMPLING, "top_k": Sampling(1.3, top_k=4), "top_p": Sampling(1.1, top_p=0.8)}


@pytest.mark.parametrize("sampled", [True, False], ids=["sampled draft", "point mass"])
@pytest.mark.parametrize("length", [0, 1, 3])
@pytest.mark.parametrize("verifier", LOSSLESS.values(), ids=LOSSLESS)
def test_lossless_verifiers_emit_the_target_distribution(
    verifier: Verifier, length: int, sampled: bool
) -> None:
    pairs = first_two_tokens(verifier, TARGET, DRAFT, length, sampled, SAMPLING, DRAWS)
    assert total_variation(frequencies(pairs[:, 0], V), DIST[0]) < 0.01
    joint = frequencies(pairs[:, 0] * V + pairs[:, 1], V * V)
    assert total_variation(joint, (DIST[0][:, None] * DIST).flatten()) < 0.01


@pytest.mark.parametrize("sampling", CUTS.values(), ids=CUTS)
def test_cuts_apply_to_target_and_draft_alike(sampling: Sampling) -> None:
    pairs = first_two_tokens(RejectionVerifier(), TARGET, DRAFT, 2, True, sampling, DRAWS)
    dist = sampling.warp(TARGET)[0]
    found = frequencies(pairs[:, 0], V)
    assert total_variation(found, dist) < 0.01
    assert found[dist == 0].sum() == 0


def test_a_wrong_draft_distribution_would_show() -> None:
    """The control: a favourite declared as if it were sampled shifts the distribution visibly."""
    generator = torch.Generator().manual_seed(2)
    soft = SAMPLING.warp(DRAFT)[0]
    tokens = soft.argmax().expand(DRAWS, 1)
    logits = torch.stack([TARGET[0], TARGET[int(soft.argmax())]]).expand(DRAWS, 2, V)
    probs = soft.expand(DRAWS, 1, V)
    accepted, token, _ = judge_many(RejectionVerifier(), tokens, probs, logits, SAMPLING, generator)
    first = torch.where(accepted == 1, tokens[:, 0], token)
    assert total_variation(frequencies(first, V), DIST[0]) > 0.02


def test_acceptance_rate_is_one_minus_total_variation() -> None:
    generator = torch.Generator().manual_seed(3)
    roots = torch.zeros(DRAWS, dtype=torch.long)
    _, count = rounds(RejectionVerifier(), TARGET, DRAFT, 1, True, SAMPLING, roots, generator)
    expected = 1 - total_variation(DIST[0], SAMPLING.warp(DRAFT)[0])
    assert float((count == 2).float().mean()) == pytest.approx(expected, abs=0.005)


def test_a_point_mass_is_accepted_with_its_target_probability() -> None:
    generator = torch.Generator().manual_seed(4)
    roots = torch.zeros(DRAWS, dtype=torch.long)
    _, count = rounds(RejectionVerifier(), TARGET, DRAFT, 1, False, SAMPLING, roots, generator)
    expected = float(DIST[0][DRAFT[0].argmax()])
    assert float((count == 2).float().mean()) == pytest.approx(expected, abs=0.005)


def test_no_mass_left_falls_back_to_the_target() -> None:
    """p = q accepts always; should rounding still reject, the residual is empty and p decides."""
    dist = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    draft = Draft.chain(torch.tensor([2]), dist[:1])
    view = TargetView.of(dist.log().clamp_min(-1e9))
    decision = RejectionVerifier().judge(draft, view, Sampling(1.0), None).fetch(draft, view)
    assert decision.tokens == [1]
    assert decision.outcomes == "r"


def test_an_impossible_token_is_never_accepted() -> None:
    dist = torch.tensor([[0.0, 1.0], [0.5, 0.5]])
    draft = Draft.chain(torch.tensor([0]))
    generator = torch.Generator().manual_seed(0)
    assert not any(bool(accept(draft, dist, generator)) for _ in range(500))


def test_rejection_marks_kept_tokens_as_stochastic() -> None:
    draft = Draft.chain(torch.tensor([1, 0, 1]))
    view = TargetView.of(torch.tensor([[-99.0, 99.0], [-99.0, 99.0], [0.0, 0.0], [0.0, 0.0]]))
    decision = RejectionVerifier().judge(draft, view, Sampling(1.0), None).fetch(draft, view)
    assert decision.outcomes == "sr."
    assert decision.tokens == [1, 1]


def loose_case(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A draft whose first token misses an unsure target, and three sure matches after it."""
    unsure = torch.tensor([1.0, 0.6, 0.3, -1.0])
    sure = torch.tensor([30.0, 0.0, 0.0, 0.0])
    logits = torch.stack([unsure, sure, sure, sure, unsure])
    tokens = torch.tensor([3, 0, 0, 0])
    return tokens.expand(batch, 4), logits.expand(batch, 5, 4)


def test_native_rescues_what_the_ratio_refused() -> None:
    tokens, logits = loose_case(DRAWS)
    generator = torch.Generator().manual_seed(5)
    accepted, _, outcomes = judge_many(
        FlyVerifier("official", 0.3, 2), tokens, None, logits, Sampling(1.0), generator
    )
    assert bool((accepted == 4).all())
    share = float((outcomes[:, 0] == Outcome.SAMPLED).float().mean())
    assert share == pytest.approx(float(logits[0, 0].softmax(-1)[3]), abs=0.005)
    assert bool(((outcomes[:, 0] == Outcome.LOOSE) | (outcomes[:, 0] == Outcome.SAMPLED)).all())


def test_native_never_rescues_the_target_favourite() -> None:
    tokens, logits = loose_case(DRAWS)
    tokens = tokens.clone()
    tokens[:, 0] = 0
    generator = torch.Generator().manual_seed(6)
    accepted, token, outcomes = judge_many(
        FlyVerifier("official", 0.0, 0), tokens, None, logits, Sampling(1.0), generator
    )
    favourite = float(logits[0, 0].softmax(-1)[0])
    assert float((accepted > 0).float().mean()) == pytest.approx(favourite, abs=0.005)
    assert bool((outcomes[accepted == 0, 0] == Outcome.REJECTED).all())
    assert bool((token[accepted == 0] != 0).all())


def test_native_never_keeps_a_token_outside_the_cut() -> None:
    tokens, logits = loose_case(1000)
    generator = torch.Generator().manual_seed(7)
    verifier = FlyVerifier("official", 0.3, 2)
    kept, _, _ = judge_many(verifier, tokens, None, logits, Sampling(1.0, top_k=3), generator)
    assert bool((kept == 0).all())


@pytest.mark.parametrize(("rule", "kept"), [("official", True), ("paper", True), ("vllm", False)])
def test_only_the_vllm_rule_gates_on_the_warped_distribution(rule: str, kept: bool) -> None:
    """At a low temperature the warped distribution is sure where the model's own is not."""
    tokens, logits = loose_case(1)
    verifier = FlyVerifier(rule, 0.3, 2, "best_of_two")  # type: ignore[arg-type]
    draft, view = Draft.chain(tokens[0]), TargetView.of(logits[0])
    generator = torch.Generator().manual_seed(8)
    decision = verifier.judge(draft, view, Sampling(0.02), generator).fetch(draft, view)
    assert decision.outcomes[0] == ("l" if kept else "g")


def test_best_of_two_accepts_with_either_sample() -> None:
    generator = torch.Generator().manual_seed(9)
    roots = torch.zeros(DRAWS, dtype=torch.long)
    verifier = FlyVerifier("official", math.inf, 0, "best_of_two")
    emitted, count = rounds(verifier, TARGET, DRAFT, 1, False, SAMPLING, roots, generator)
    favourite = int(DRAFT[0].argmax())
    p = float(DIST[0][favourite])
    assert float((count == 2).float().mean()) == pytest.approx(1 - (1 - p) ** 2, abs=0.005)
    corrections = frequencies(emitted[count == 1, 0], V)
    others = DIST[0].index_fill(0, torch.tensor([favourite]), 0.0)
    assert total_variation(corrections, others / others.sum()) < 0.01


@pytest.mark.parametrize(
    ("draft", "tokens"), [([1, 5], [1, 5, 3]), ([4, 2], [4, 2, 3]), ([1, 6], [1, 2]), ([0, 5], [1])]
)
def test_best_of_two_matches_either_sample_and_corrects_with_the_first(
    draft: list[int], tokens: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = iter([torch.tensor([1, 2, 3]), torch.tensor([4, 5, 7])])
    monkeypatch.setattr(fly, "draw", lambda dist, generator: next(samples))
    chain, view = Draft.chain(torch.tensor(draft)), TargetView.of(torch.zeros(3, V))
    verifier = FlyVerifier("official", math.inf, 0, "best_of_two")
    decision = verifier.judge(chain, view, Sampling(1.0), None).fetch(chain, view)
    assert decision.tokens == tokens
    assert set(decision.outcomes[: len(decision.nodes)]) <= {"s"}


def test_best_of_two_is_not_the_target_distribution() -> None:
    pairs = first_two_tokens(
        FlyVerifier("official", math.inf, 0, "best_of_two"),
        TARGET,
        DRAFT,
        1,
        False,
        SAMPLING,
        DRAWS,
    )
    assert total_variation(frequencies(pairs[:, 0], V), DIST[0]) > 0.05


def test_equal_seeds_judge_alike() -> None:
    def once(seed: int) -> list[int]:
        generator = torch.Generator().manual_seed(seed)
        roots = torch.zeros(200, dtype=torch.long)
        setting = (RejectionVerifier(), TARGET, DRAFT, 3, True, SAMPLING)
        return rounds(*setting, roots, generator)[0].flatten().tolist()

    assert once(1) == once(1)
    assert once(1) != once(2)


def test_lossless_verification_is_exact_if_greedy_and_rejection_if_not() -> None:
    assert isinstance(build_verifier(EXACT, Sampling()), ExactVerifier)
    assert isinstance(build_verifier(EXACT, Sampling(0.5)), RejectionVerifier)
    loose = build_rule(
        VerifyConfig.of("fly", rule="paper", theta=0.7, window=3, at_temperature="best_of_two"),
        Sampling(0.5),
    )
    assert loose == FlyVerifier("paper", 0.7, 3, "best_of_two")
