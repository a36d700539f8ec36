"""Costs of decoding: a whole draft, a verdict, and the parts of real rounds."""

from __future__ import annotations

from typing import Any

import torch

from flybench.analysis.latency.pair import TimedPair
from flybench.analysis.latency.sweep import CONTEXT
from flybench.analysis.latency.timing import Effort, TimingStats, time_calls
from flybench.config import MethodConfig, VerifyConfig
from flybench.core.drafts import Draft
from flybench.core.samples import Round
from flybench.decode import AR, Decoder, StopRule, build_decoder
from flybench.engine.base import CachedModel, Target
from flybench.engine.loading.load import on_engine
from flybench.measure.clock import Clock
from flybench.sampling import Sampling
from flybench.verify import build_verifier

PARTS = ("draft", "verify", "other")
WARMUP_TOKENS = 4
Row = dict[str, Any]


def decoding_costs(
    pair: TimedPair, method: MethodConfig, sampling: Sampling, clock: Clock, effort: Effort
) -> Row:
    """Time a draft, verdicts and rounds, at a context of `CONTEXT` tokens and batch 1.

    All values are `TimingStats` in seconds. `draft`: a draft of `k` tokens, None without a draft
    model. `verdicts`: FLy's rule and the exact one on `k` draft tokens, None for AR. `rounds`:
    the parts of AR's rounds and the method's.
    """
    longest = CONTEXT + max(effort.rounds, WARMUP_TOKENS) + method.k + 2
    models = [costed.model for costed in pair.models.values()]
    target, draft = on_engine(models, pair.vocab_size, pair.engine, longest)
    prompt = random_prompt(pair.vocab_size)
    costs: Row = {"draft": None, "verdicts": None}
    if draft is not None:
        costs["draft"] = _draft(draft, prompt, method.k, sampling, clock, effort)
    if method.k:
        costs["verdicts"] = _verdicts(target, prompt, method, sampling, clock, effort)
    costs["rounds"] = {
        each.name: _rounds(build_decoder(each, target, draft, sampling), prompt, effort)
        for each in dict.fromkeys((AR, method))
    }
    return costs


def random_prompt(vocab_size: int) -> list[int]:
    """Return `CONTEXT` random ids, in which lookup finds almost no matches."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(vocab_size, (CONTEXT,), generator=generator).tolist()


def _draft(
    model: CachedModel, prompt: list[int], k: int, sampling: Sampling, clock: Clock, effort: Effort
) -> Row:
    model.prefill(prompt[:-1])
    drafting = model.drafting(k, sampling)

    def work() -> None:
        model.rollback(len(prompt) - 1)
        drafting(prompt[-1:], None)

    return time_calls(work, clock, effort).plain()


def _verdicts(
    target: Target,
    prompt: list[int],
    method: MethodConfig,
    sampling: Sampling,
    clock: Clock,
    effort: Effort,
) -> Row:
    """Time verdicts with window and gate, starting from the target's statistics."""
    loose = method.verify if method.verify.kind == "fly" else VerifyConfig.of("fly")
    times = {}
    for rule in (loose, VerifyConfig.of("exact")):
        own, judge = target.prepare(build_verifier(rule, sampling), method.k, sampling)
        own.prefill(prompt[:-1])
        draft = Draft.chain(torch.zeros(method.k, dtype=torch.long, device=target.device))
        view = own.score(prompt[-1], draft)
        generator = torch.Generator(target.device).manual_seed(0)

        def work() -> None:
            judge.judge(draft, view, sampling, generator)  # noqa: B023 - called within the iteration

        times[rule.kind] = time_calls(work, clock, effort).plain()
    return times


def _rounds(decoder: Decoder, prompt: list[int], effort: Effort) -> Row:
    """Time the parts of at least `effort.rounds` rounds, with as many decodes as needed."""
    decoder.decode(prompt, StopRule(frozenset(), WARMUP_TOKENS))
    rounds: list[Round] = []
    while len(rounds) < effort.rounds:
        rounds += decoder.decode(prompt, StopRule(frozenset(), effort.rounds)).rounds
    return {
        part: TimingStats.of([getattr(round_, f"{part}_s") for round_ in rounds]).plain()
        for part in PARTS
    }
