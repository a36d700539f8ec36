"""FLy against the published cases, against a slow reference, and its limits."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from flybench.core.drafts import Draft, TargetView
from flybench.core.outcomes import Outcome
from flybench.core.verdicts import Decision
from flybench.sampling import Sampling
from flybench.verify.exact import ExactVerifier
from flybench.verify.fly import FlyVerifier, loose_outcomes
from flybench.verify.statistics import StatisticsVerifier
from tests.oracles import fly as oracle

VECTORS = Path(__file__).parents[1] / "data" / "fly_vectors.jsonl"
CASES = [json.loads(line) for line in VECTORS.read_text().splitlines()]
Rule = Literal["official", "paper", "vllm"]
RULES: tuple[Rule, ...] = ("official", "paper", "vllm")
LETTERS = {"exact": "e", "loose": "l", "gate": "g", "window": "w", "tail": "t"}
UNSURE = [0.1, 0.0, 0.05, 0.0]
SURE = [9.0, 0.0, 0.0, 0.0]


def decide(verifier: Any, draft_ids: list[int], logits: list[list[float]]) -> Decision:
    draft = Draft.chain(torch.tensor(draft_ids, dtype=torch.long))
    view = TargetView.of(torch.tensor(logits))
    return verifier.judge(draft, view, Sampling(), None).fetch(draft, view)


def gate(rule: Rule, logits: torch.Tensor) -> float:
    """The entropy that the rule compares with θ, of one row of logits [1, V]."""
    return float(FlyVerifier(rule, 0.3, 0)._gate(TargetView.of(logits)))


def pattern(rule: Rule, window: int, matches: str, theta: float = 0.3) -> Decision:
    """A draft written as one letter a position: `.` matches, `x` and `X` miss (X: target sure)."""
    rows = [SURE if letter == "X" else UNSURE for letter in matches] + [UNSURE]
    draft = [0 if letter == "." else 1 for letter in matches]
    return decide(FlyVerifier(rule, theta, window), draft, rows)


def letters(classes: list[str], size: int) -> str:
    return "".join(LETTERS[name] for name in classes).ljust(size, ".")


def random_case(rng: random.Random) -> tuple[list[int], list[list[float]]]:
    """A draft of 0 to 12 tokens that mostly follows the target, over 2 to 9 words."""
    size, vocab = rng.randint(0, 12), rng.randint(2, 9)
    logits = [
        [rng.gauss(0, rng.choice([0.1, 1, 6])) for _ in range(vocab)] for _ in range(size + 1)
    ]
    stray = rng.choice([0.05, 0.2, 0.6])
    draft = [
        rng.randrange(vocab) if rng.random() < stray else oracle.argmax(row)
        for row in logits[:size]
    ]
    return draft, logits


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']}-{case['rule']}")
def test_published_case(case: dict[str, Any]) -> None:
    verifier = FlyVerifier(case["rule"], case["theta"], case["window"])
    decision = decide(verifier, case["draft"], case["target_logits"])
    assert decision.tokens == case["emitted"]
    assert len(decision.nodes) == case["kept"]
    assert decision.outcomes == letters(case["classes"], len(case["draft"]))
    assert decision.loose == case["classes"].count("loose")


def test_published_cases_are_all_there() -> None:
    assert len(CASES) == 240
    assert {name for case in CASES for name in case["classes"]} == set(LETTERS)


def test_exact_verifier_keeps_what_the_published_cases_call_strict() -> None:
    for case in CASES:
        decision = decide(ExactVerifier(), case["draft"], case["target_logits"])
        assert len(decision.nodes) == case["strict_kept"], case["id"]


def test_reference_agrees_with_the_published_cases() -> None:
    for case in CASES:
        settings = (case["rule"], case["theta"], case["window"])
        kept, classes = oracle.judge(*settings, case["draft"], case["target_logits"])
        assert (kept, classes) == (case["kept"], case["classes"]), case["id"]


@pytest.mark.parametrize("rule", RULES)
def test_agrees_with_the_slow_reference(rule: Rule) -> None:
    rng = random.Random(rule)
    seen = set()
    for _ in range(1500):
        draft, logits = random_case(rng)
        theta = rng.choice([0.0, 0.1, 0.3, 0.7, math.inf])
        window = rng.choice([0, 0, 1, 2, 3, 6, 20])
        decision = decide(FlyVerifier(rule, theta, window), draft, logits)
        kept, classes = oracle.judge(rule, theta, window, draft, logits)
        assert decision.outcomes == letters(classes, len(draft)), (theta, window, draft)
        assert decision.nodes == list(range(kept))
        assert decision.tokens == oracle.emitted(kept, draft, logits)
        seen |= set(decision.outcomes)
    assert seen == set("elgwt."), "the cases are too tame to tell rules apart"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("window", [0, 3])
def test_infinite_theta_is_exact_verification(rule: Rule, window: int) -> None:
    rng = random.Random(3)
    for _ in range(300):
        draft, logits = random_case(rng)
        loose = decide(FlyVerifier(rule, math.inf, window), draft, logits)
        exact = decide(ExactVerifier(), draft, logits)
        assert (loose.tokens, loose.nodes) == (exact.tokens, exact.nodes)
        assert loose.loose == 0


@pytest.mark.parametrize("rule", RULES)
def test_a_draft_within_the_window_is_verified_exactly(rule: Rule) -> None:
    rng = random.Random(4)
    for _ in range(300):
        draft, logits = random_case(rng)
        loose = decide(FlyVerifier(rule, 0.0, max(len(draft), 1)), draft, logits)
        assert loose.tokens == decide(ExactVerifier(), draft, logits).tokens


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_kept_does_not_grow_with_theta(rule: Rule) -> None:
    rng = random.Random(5)
    falls = 0
    for _ in range(300):
        draft, logits = random_case(rng)
        thetas = (0.0, 0.05, 0.2, 0.3, 0.5, 0.8, 1.2, math.inf)
        kept = [len(decide(FlyVerifier(rule, t, 2), draft, logits).nodes) for t in thetas]
        assert kept == sorted(kept, reverse=True)
        falls += kept[0] > kept[-1]
    assert falls > 10


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_kept_does_not_grow_with_the_window(rule: Rule) -> None:
    rng = random.Random(6)
    falls = 0
    for _ in range(300):
        draft, logits = random_case(rng)
        kept = [len(decide(FlyVerifier(rule, 0.1, w), draft, logits).nodes) for w in range(10)]
        assert kept == sorted(kept, reverse=True)
        falls += kept[0] > kept[-1]
    assert falls > 10


def test_two_mismatches_within_the_lookahead_reject_the_first() -> None:
    apart = {gap: ".." + "x" + "." * (gap - 1) + "x" + "." * 9 for gap in range(1, 6)}
    for gap, draft in apart.items():
        # W = 4: the official code looks at 3 following tokens, the two others at 4.
        for rule, reach in (("official", 3), ("paper", 4), ("vllm", 4)):
            decision = pattern(rule, 4, draft)
            rejected = gap <= reach
            assert (decision.outcomes[2] == "w") == rejected, (rule, gap)
            assert len(decision.nodes) == (2 if rejected else len(draft)), (rule, gap)


def test_mismatches_further_apart_are_both_kept() -> None:
    decision = pattern("paper", 3, "x...x...")
    assert decision.outcomes == "leeeleee"
    assert decision.loose == 2


def test_a_rescued_token_still_counts_as_a_mismatch_for_the_one_before() -> None:
    assert pattern("paper", 2, "x.x..").outcomes == "w...."
    assert pattern("official", 2, "x.x..").outcomes == "lelee"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("size", "window"), [(15, 6), (25, 6), (7, 6), (4, 1), (5, 0)])
def test_last_rescuable_position_is_draft_length_minus_window(
    rule: Rule, size: int, window: int
) -> None:
    rescued = []
    for position in range(1, size + 1):
        draft = "." * (position - 1) + "x" + "." * (size - position)
        decision = pattern(rule, window, draft)
        rescued += [position] * (decision.outcomes[position - 1] == "l")
        assert decision.outcomes[position - 1] in "lt"
    assert rescued == list(range(1, size - window + 1))


@pytest.mark.parametrize("rule", RULES)
def test_a_sure_target_rejects_whatever_follows(rule: Rule) -> None:
    decision = pattern(rule, 2, ".X......")
    assert decision.outcomes == "eg......"
    assert decision.tokens == [0, 0]


@pytest.mark.parametrize("rule", RULES)
def test_theta_zero_switches_the_gate_off(rule: Rule) -> None:
    assert pattern(rule, 2, ".X......", theta=0.0).outcomes == "eleeeeee"


@pytest.mark.parametrize("rule", RULES)
def test_window_zero_leaves_the_gate_alone(rule: Rule) -> None:
    assert pattern(rule, 0, "xx.Xx").outcomes == "lleg."
    assert pattern(rule, 0, "xxxx").outcomes == "llll"


@pytest.mark.parametrize("rule", RULES)
def test_entropy_equal_to_theta_defers(rule: Rule) -> None:
    theta = gate(rule, torch.tensor([UNSURE]))
    assert pattern(rule, 1, "x..", theta=theta).outcomes == "lee"
    above = math.nextafter(torch.tensor(theta).item(), math.inf) + 1e-6
    assert pattern(rule, 1, "x..", theta=above).outcomes == "g.."


@pytest.mark.parametrize("rule", RULES)
def test_entropies_match_the_formulas(rule: Rule) -> None:
    rng = random.Random(7)
    for vocab in (2, 3, 4, 40):
        row = [rng.gauss(0, 2) for _ in range(vocab)]
        ours = gate(rule, torch.tensor([row]))
        assert ours == pytest.approx(oracle.entropy(rule, row), abs=1e-6)


def test_entropies_lie_in_their_ranges() -> None:
    flat, peaked = torch.zeros(1, 50), torch.eye(50)[:1] * 1e4
    assert gate("paper", flat) == pytest.approx(1)
    assert gate("paper", peaked) == gate("official", peaked) == 0
    assert gate("official", torch.zeros(1, 3)) == pytest.approx(math.log(3))
    # A flat distribution over many words counts as sure, because only three words are summed.
    assert gate("official", flat) < 0.3


def test_loosen_judges_every_node_on_its_own() -> None:
    match = torch.tensor([True, False, False, True, False, True])
    unsure = torch.tensor([True, True, True, True, False, True])
    outcomes = loose_outcomes(match, unsure, window=1, lookahead=1).tolist()
    assert outcomes == [
        Outcome.EXACT,
        Outcome.WINDOW,
        Outcome.LOOSE,
        Outcome.EXACT,
        Outcome.GATE,
        Outcome.EXACT,
    ]


def test_judging_changes_no_input() -> None:
    case = CASES[0]
    draft = Draft.chain(torch.tensor(case["draft"]))
    view = TargetView.of(torch.tensor(case["target_logits"]))
    before = draft.tokens.clone(), draft.parents.clone(), view.logits.clone()
    FlyVerifier("official", 0.3, 2).judge(draft, view, Sampling(), None)
    after = draft.tokens, draft.parents, view.logits
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0)], ids=["greedy", "sampled"])
def test_the_target_thinks_its_own_of_every_loose_token(sampling: Sampling) -> None:
    """Without gate and window all mismatches stay; probabilities are those at temperature 1."""
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn(9, 12, generator=generator) * 2
    draft = Draft.chain(torch.randint(0, 12, (8,), generator=generator))
    view = TargetView.of(logits)
    verdict = StatisticsVerifier(FlyVerifier("official", 0, 0)).judge(
        draft, view, sampling, generator
    )
    decision = verdict.fetch(draft, view)
    assert len(decision.loose_statistics) == decision.loose > 2
    dist = logits.double().softmax(-1)
    for place, statistics in zip(decision.loose_indices, decision.loose_statistics, strict=True):
        row, token = dist[place], decision.tokens[place]
        assert statistics.top1 == int(row.argmax()) != token
        assert statistics.probability == pytest.approx(float(row[token]), rel=1e-4)
        assert statistics.max_probability == pytest.approx(float(row.max()), rel=1e-4)
        assert statistics.rank == 1 + int((row > row[token]).sum())
        assert statistics.entropy == pytest.approx(float(-(row * row.log()).sum()), rel=1e-4)
    cut = decision.truncated(3)
    assert len(cut.loose_statistics) == cut.loose
