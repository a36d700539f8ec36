"""FLy's loose verification: a mismatch may stay where the target is unsure and then agrees again.

Source: "Training-Free Loosely Speculative Decoding", arXiv 2511.22972, equations 5 to 11; its
official code (AMD-AGI/FLy) and its vLLM port follow other rules, so three rules carry the name:

| rule     | entropy at the mismatch                    | following tokens that must match |
|----------|--------------------------------------------|----------------------------------|
| official | sum over the top 3 of −p ln p, nats        | window − 1                       |
| paper    | entropy of the softmax, divided by ln V    | window                           |
| vllm     | as official, of the warped law if sampling | window                           |

In all three the window must fit in the draft (j + W ≤ K, 1-based). θ = 0 switches the gate off,
θ = ∞ makes the rule exact, W = 0 leaves the gate alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from flybench.core.drafts import Draft, TargetView, top3_entropy
from flybench.core.outcomes import Outcome
from flybench.core.verdicts import Verdict, target_statistics
from flybench.sampling import Sampling, draw
from flybench.verify.base import accepted_prefix, chain_verdict, pick
from flybench.verify.rejection import accept, draw_next

Rule = Literal["official", "paper", "vllm"]
AtTemperature = Literal["native", "best_of_two"]


def loosen(match: Tensor, unsure: Tensor, window: int, lookahead: int) -> Tensor:
    """The fate of every node judged on its own: `match` and `unsure` [..., N] bool → `Outcome`s.

    A match is EXACT; a mismatch is LOOSE if the target is unsure there, the window fits, and none
    of the next `lookahead` tokens is a mismatch. Raw matches count, not rescued ones.
    """
    size = match.shape[-1]
    nodes = torch.arange(size, device=match.device)
    mismatches = torch.nn.functional.pad((~match).long().cumsum(-1), (1, 0))
    ends = (nodes + 1 + lookahead).clamp(max=size)
    clean = mismatches[..., ends] == mismatches[..., nodes + 1]
    outcomes = torch.where(clean, int(Outcome.LOOSE), int(Outcome.WINDOW))
    outcomes = outcomes.where(nodes + window < size, int(Outcome.TAIL))
    outcomes = outcomes.where(unsure, int(Outcome.GATE))
    return outcomes.where(~match, int(Outcome.EXACT))


@dataclass(frozen=True)
class FlyVerifier:
    """Loose verification by entropy gate and deferred window.

    At temperature 0 a match is the target's argmax. Above it, `native` keeps the exact core
    (acceptance p/q, residual on rejection) and adds the rescue; `best_of_two` is the official
    code's rule: two target samples a position, a match equals either, the first one corrects. It
    is not the target's law even with θ = ∞.
    """

    rule: Rule
    theta: float
    window: int
    at_temperature: AtTemperature = "native"

    def judge(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        if sampling.greedy:
            verdict = self._greedily(draft, view)
        else:
            verdict = self._drawing(draft, view, sampling, generator)
        return replace(verdict, loose_statistics=target_statistics(draft, view))

    def _greedily(self, draft: Draft, view: TargetView) -> Verdict:
        choice = view.statistics.choice
        outcomes = self.outcomes(draft.tokens == choice[:-1], self._gate(view)[:-1])
        accepted = accepted_prefix(kept(outcomes))
        return chain_verdict(accepted, pick(choice, accepted), outcomes)

    def _drawing(
        self,
        draft: Draft,
        view: TargetView,
        sampling: Sampling,
        generator: torch.Generator | None,
    ) -> Verdict:
        law = sampling.warp(view.logits)
        gate = self._gate(view)
        if self.rule == "vllm":
            gate = top3_entropy(law.topk(min(3, law.shape[-1]), dim=-1).values)
        if self.at_temperature == "best_of_two":
            return self._best_of_two(draft, law, gate, generator)
        return self._native(draft, law, gate, view.statistics.choice, generator)

    def _gate(self, view: TargetView) -> Tensor:
        top3 = top3_entropy(view.statistics.top_probabilities)
        return self.gate(view.statistics.entropy, top3, view.logits.shape[-1])

    def gate(self, entropy: Tensor, top3: Tensor, words: int) -> Tensor:
        """What θ is compared with, of the target's law at temperature 1 over so many words: from
        its entropy and its `top3_entropy`, of one shape."""
        return entropy / math.log(words) if self.rule == "paper" else top3

    def outcomes(self, match: Tensor, gate: Tensor) -> Tensor:
        """The fate of every node judged on its own: both [..., N], and so is the result."""
        lookahead = max(self.window - 1, 0) if self.rule == "official" else self.window
        return loosen(match, gate >= self.theta, self.window, lookahead)

    def _native(
        self,
        draft: Draft,
        law: Tensor,
        gate: Tensor,
        choice: Tensor,
        generator: torch.Generator | None,
    ) -> Verdict:
        outcomes = self.outcomes(draft.tokens == choice[:-1], gate[:-1])
        # The target's favourite that p/q refused was no mismatch, so nothing can rescue it.
        outcomes = outcomes.where(outcomes != int(Outcome.EXACT), int(Outcome.REJECTED))
        possible = law[:-1].gather(1, draft.tokens[:, None]).squeeze(1) > 0
        outcomes = outcomes.where(
            possible | (outcomes != int(Outcome.LOOSE)), int(Outcome.REJECTED)
        )
        outcomes = outcomes.where(~accept(draft, law, generator), int(Outcome.SAMPLED))
        accepted = accepted_prefix(kept(outcomes))
        return chain_verdict(accepted, draw_next(draft, law, accepted, generator), outcomes)

    def _best_of_two(
        self, draft: Draft, law: Tensor, gate: Tensor, generator: torch.Generator | None
    ) -> Verdict:
        first, second = draw(law, generator), draw(law, generator)
        match = (draft.tokens == first[:-1]) | (draft.tokens == second[:-1])
        outcomes = self.outcomes(match, gate[:-1])
        accepted = accepted_prefix(kept(outcomes))
        outcomes = outcomes.where(outcomes != int(Outcome.EXACT), int(Outcome.SAMPLED))
        return chain_verdict(accepted, pick(first, accepted), outcomes)


def kept(outcomes: Tensor) -> Tensor:
    """Whether each fate lets its token stay: [..., N] int64 → bool."""
    return (
        (outcomes == int(Outcome.EXACT))
        | (outcomes == int(Outcome.LOOSE))
        | (outcomes == int(Outcome.SAMPLED))
    )
