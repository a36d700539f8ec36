"""FLy's loose verification: accept a mismatch if the target is uncertain and later tokens match.

Source: "Training-Free Loosely Speculative Decoding", arXiv 2511.22972, equations 5 to 11. The
official code (AMD-AGI/FLy) and the vLLM port differ from the paper, so there are three variants:

| rule     | entropy at the mismatch                    | following tokens that must match |
|----------|--------------------------------------------|----------------------------------|
| official | top-3 sum of −p ln p, in nats              | window − 1                       |
| paper    | entropy of the softmax, divided by ln V    | window                           |
| vllm     | as official, of the warped p at temp. > 0 | window                           |

In all three, the window must fit in the draft (j + W ≤ K, 1-based). θ = 0 disables the gate, θ = ∞
makes the rule exact, and W = 0 disables the window.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from flybench.core.declare import parameter, verifier
from flybench.core.drafts import Draft, TargetView, top3_entropy
from flybench.core.outcomes import Outcome
from flybench.core.verdicts import Verdict
from flybench.sampling import Sampling, draw
from flybench.verify.base import accepted_prefix, chain_verdict, pick
from flybench.verify.rejection import accept, draw_next


def loose_outcomes(match: Tensor, uncertain: Tensor, window: int, lookahead: int) -> Tensor:
    """Return the outcome of every node, [..., N], as if all nodes before it were accepted.

    A match [..., N] is EXACT. A mismatch is LOOSE if the target is `uncertain` [..., N], the window
    fits in the draft, and none of the next `lookahead` tokens is a mismatch, loose or not.
    """
    size = match.shape[-1]
    nodes = torch.arange(size, device=match.device)
    mismatches = torch.nn.functional.pad((~match).long().cumsum(-1), (1, 0))
    ends = (nodes + 1 + lookahead).clamp(max=size)
    clean = mismatches[..., ends] == mismatches[..., nodes + 1]
    outcomes = torch.where(clean, int(Outcome.LOOSE), int(Outcome.WINDOW))
    outcomes = outcomes.where(nodes + window < size, int(Outcome.TAIL))
    outcomes = outcomes.where(uncertain, int(Outcome.GATE))
    return outcomes.where(~match, int(Outcome.EXACT))


@verifier("fly", lookahead="window", greedy_draft=("at_temperature", "best_of_two"))
class FlyVerifier:
    """Loose verification with an entropy gate and a deferred window.

    At temperature 0, a match is the target's argmax. Above it, `native` is rejection sampling
    (acceptance p/q, residual on rejection) that also accepts loose tokens. `best_of_two` is the
    rule of the official code: the target draws two samples per position, a match equals either,
    and the first is the correction. Its output does not have the target's distribution even with
    θ = ∞.
    """

    rule: Literal["official", "paper", "vllm"] = parameter(
        default="official",
        help="variant of the entropy and of the number of tokens that must match",
    )
    theta: float = parameter(
        default=0.3,
        low=0,
        label="theta",
        help="entropy threshold at a mismatch; inf makes the rule exact",
    )
    window: int = parameter(
        default=6,
        low=0,
        unit="tokens",
        label="window",
        help="number of draft tokens required after a mismatch; 0 uses only the gate",
    )
    at_temperature: Literal["native", "best_of_two"] = parameter(
        default="native", help="the rule at temperature > 0"
    )

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        if sampling.greedy:
            return self._judge_greedy(draft, view)
        return self._judge_sampled(draft, view, sampling, generator)

    def _judge_greedy(self, draft: Draft, view: TargetView) -> Verdict:
        choice = view.statistics.choice
        outcomes = self.outcomes(draft.tokens == choice[:-1], self._gate(view)[:-1])
        accepted = accepted_prefix(kept(outcomes))
        return chain_verdict(accepted, pick(choice, accepted), outcomes)

    def _judge_sampled(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        p = sampling.warp(view.logits)
        gate = self._gate(view)
        if self.rule == "vllm":
            gate = top3_entropy(p.topk(min(3, p.shape[-1]), dim=-1).values)
        if self.at_temperature == "best_of_two":
            return self._best_of_two(draft, p, gate, generator)
        return self._native(draft, p, gate, view.statistics.choice, generator)

    def _gate(self, view: TargetView) -> Tensor:
        top3 = top3_entropy(view.statistics.top_probabilities)
        return self.gate(view.statistics.entropy, top3, view.logits.shape[-1])

    def gate(self, entropy: Tensor, top3: Tensor, vocab_size: int) -> Tensor:
        """Return the quantity that is compared with θ, from entropies of p at temperature 1.

        `entropy` is of all `vocab_size` probabilities and `top3` of the three largest; the result
        has their shape.
        """
        return entropy / math.log(vocab_size) if self.rule == "paper" else top3

    def replay(self, match: Tensor, entropy: Tensor, top3: Tensor, vocab_size: int) -> Tensor:
        """Return the outcome of every node of recorded traces of a greedy run, all [..., N]."""
        return self.outcomes(match, self.gate(entropy, top3, vocab_size))

    def outcomes(self, match: Tensor, gate: Tensor) -> Tensor:
        """Return the outcome of every node, [..., N], from its match and gate, both [..., N]."""
        lookahead = max(self.window - 1, 0) if self.rule == "official" else self.window
        return loose_outcomes(match, gate >= self.theta, self.window, lookahead)

    def _native(
        self,
        draft: Draft,
        p: Tensor,
        gate: Tensor,
        choice: Tensor,
        generator: torch.Generator | None,
    ) -> Verdict:
        outcomes = self.outcomes(draft.tokens == choice[:-1], gate[:-1])
        # The target's top-1 that p/q rejects is not a mismatch, so it cannot be loose.
        outcomes = outcomes.where(outcomes != int(Outcome.EXACT), int(Outcome.REJECTED))
        possible = p[:-1].gather(1, draft.tokens[:, None]).squeeze(1) > 0
        outcomes = outcomes.where(
            possible | (outcomes != int(Outcome.LOOSE)), int(Outcome.REJECTED)
        )
        outcomes = outcomes.where(~accept(draft, p, generator), int(Outcome.SAMPLED))
        accepted = accepted_prefix(kept(outcomes))
        return chain_verdict(accepted, draw_next(draft, p, accepted, generator), outcomes)

    def _best_of_two(
        self, draft: Draft, p: Tensor, gate: Tensor, generator: torch.Generator | None
    ) -> Verdict:
        first, second = draw(p, generator), draw(p, generator)
        match = (draft.tokens == first[:-1]) | (draft.tokens == second[:-1])
        outcomes = self.outcomes(match, gate[:-1])
        accepted = accepted_prefix(kept(outcomes))
        outcomes = outcomes.where(outcomes != int(Outcome.EXACT), int(Outcome.SAMPLED))
        return chain_verdict(accepted, pick(first, accepted), outcomes)


def kept(outcomes: Tensor) -> Tensor:
    """Return True for accepted outcomes, [..., N] int64 → bool."""
    return (
        (outcomes == int(Outcome.EXACT))
        | (outcomes == int(Outcome.LOOSE))
        | (outcomes == int(Outcome.SAMPLED))
    )
