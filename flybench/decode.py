"""The decode loop. Every method runs through it; plain decoding is the loop with empty drafts.

One round: propose, score, judge, one copy to the host, truncate, commit, observe. Tokens are
counted here and nowhere else, after truncation at an end-of-sequence id, a stop string or the cap.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from flybench.config import BASELINE, REPEAT, MethodConfig
from flybench.core.samples import Finish, Generation, LooseToken, Round
from flybench.core.verdicts import Decision
from flybench.draft import build_drafter
from flybench.draft.base import Drafter, DraftSetup
from flybench.engine.base import CachedModel, Target
from flybench.engine.eagle3.model import HeadModel
from flybench.measure.clock import Clock, Mark
from flybench.sampling import Sampling
from flybench.verify import build_verifier
from flybench.verify.base import Verifier
from flybench.verify.tracing import TracingVerifier

AR = MethodConfig(name=BASELINE)
AR_AGAIN = MethodConfig(name=REPEAT)


@dataclass(frozen=True)
class StopRule:
    """When an answer ends: an EOS id (kept), a stop string (kept to its last token), or the cap.

    `detokenize` turns ids into text with special tokens spelled out.
    """

    eos_ids: frozenset[int]
    max_new_tokens: int
    stop_strings: tuple[str, ...] = ()
    detokenize: Callable[[Sequence[int]], str] = lambda ids: ""

    def cut(self, kept: Sequence[int], emitted: Sequence[int]) -> tuple[int, Finish | None]:
        """How many of `emitted` (≥ 1 of them) to keep after `kept`, and why to end there, if so.

        The first token that ends the answer decides; at one token EOS precedes stop, stop the cap.
        """
        # Every token but the first of a text spells at least one byte, so that this many reach back
        # over the longest stop string.
        reach = max((len(stop.encode()) for stop in self.stop_strings), default=0) + 1
        for count, token in enumerate(emitted, start=1):
            if token in self.eos_ids:
                return count, "eos"
            if self.stop_strings:
                tail = self.detokenize([*kept, *emitted[:count]][-reach:])
                if any(stop in tail for stop in self.stop_strings):
                    return count, "stop"
            if len(kept) + count >= self.max_new_tokens:
                return count, "length"
        return len(emitted), None


class Turn(NamedTuple):
    """What a round leaves behind; it is worked out after the answer, when no time is measured."""

    drafted: int
    decision: Decision
    marks: tuple[Mark, Mark, Mark]  # began, drafted, judged
    total_s: float

    def as_round(self, clock: Clock) -> Round:
        began, drafted, judged = self.marks
        draft_s, verify_s = clock.seconds(began, drafted), clock.seconds(drafted, judged)
        return Round(
            drafted=self.drafted,
            accepted=len(self.decision.nodes),
            loose=self.decision.loose,
            emitted=len(self.decision.tokens),
            outcomes=self.decision.outcomes,
            draft_s=draft_s,
            verify_s=verify_s,
            other_s=max(self.total_s - draft_s - verify_s, 0.0),
        )


def _loose_tokens(turns: Iterable[Turn]) -> Iterator[LooseToken]:
    """Every token that only a loose rule kept, with its place in the answer."""
    emitted = 0
    for turn in turns:
        decision = turn.decision
        pairs = zip(decision.loose_indices, decision.loose_statistics, strict=True)
        yield from (LooseToken(emitted + index, statistics) for index, statistics in pairs)
        emitted += len(decision.tokens)


@dataclass(frozen=True)
class Decoder:
    """A method ready to answer: its three parts, the draft length `k`, sampling and the clock."""

    target: Target
    drafter: Drafter
    verifier: Verifier
    k: int
    sampling: Sampling
    clock: Clock

    def decode(self, prompt_ids: Sequence[int], stop: StopRule, seed: int = 0) -> Generation:
        """Answer one prompt from a cold state; the text is left empty for the caller to fill.

        Time starts before both prefills. The first token comes from the first round, so that
        `first_token_s` includes its drafting.
        """
        generator = torch.Generator(self.target.device).manual_seed(seed)
        context = list(prompt_ids)
        answer: list[int] = []
        margins: list[float] = []
        turns: list[Turn] = []
        finish: Finish | None = None
        start = self.clock.now()
        taps = self.target.prefill(prompt_ids[:-1])
        self.drafter.start(prompt_ids, taps, generator)
        prefilled = ended = self.clock.now()
        first_token = 0.0
        while finish is None:
            began, began_mark = ended, self.clock.mark()
            draft = self.drafter.propose(context, self.k).to(self.target.device)
            drafted_mark = self.clock.mark()
            view = self.target.score(context[-1], draft)
            verdict = self.verifier.judge(draft, view, self.sampling, generator)
            judged_mark = self.clock.mark()
            decision = verdict.fetch(draft, view)
            emitted, finish = stop.cut(answer, decision.tokens)
            decision = decision.truncated(emitted)
            self.target.commit(decision.path)
            self.drafter.observe(draft, view, decision)
            context += decision.tokens
            answer += decision.tokens
            margins += decision.margins
            ended = time.perf_counter()
            first_token = first_token or ended - start
            marks = (began_mark, drafted_mark, judged_mark)
            turns.append(Turn(len(draft), decision, marks, ended - began))
        total_s = self.clock.now() - start
        return Generation(
            prompt_tokens=len(prompt_ids),
            ids=answer,
            text="",
            finish=finish,
            margins=margins,
            rounds=[turn.as_round(self.clock) for turn in turns],
            loose_tokens=list(_loose_tokens(turns)),
            traces=[row for turn in turns for row in turn.decision.traces],
            prefill_s=prefilled - start,
            first_token_s=first_token,
            total_s=total_s,
        )


def build_decoder(
    method: MethodConfig,
    target: Target,
    draft: CachedModel | HeadModel | None,
    sampling: Sampling,
    traces: bool = False,
) -> Decoder:
    """A decoder on loaded models, with everything that its passes need prepared; with `traces` it
    keeps the target's distribution at every drafted token."""
    rule = build_verifier(method.verify, sampling)
    rule = TracingVerifier(rule) if traces else rule
    own, verifier = target.prepare(rule, method.k, sampling, method.draft.grows_trees)
    return Decoder(
        target=own,
        drafter=build_drafter(method.draft, DraftSetup(target.device, method.k, sampling, draft)),
        verifier=verifier,
        k=method.k,
        sampling=sampling,
        clock=Clock(target.device),
    )
