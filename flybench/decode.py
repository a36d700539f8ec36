"""The decode loop that all methods share; autoregressive decoding is the loop with empty drafts.

Each round: propose, score, judge, copy to the host, truncate, commit, observe. Tokens are counted
only here, after truncation at an end-of-sequence id, a stop string or the length limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from flybench.config import BASELINE, REPEAT, MethodConfig
from flybench.core.errors import FlybenchError
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
    """The end of an answer: an EOS id, a stop string, or the length limit.

    The EOS id and the tokens of the stop string are kept. `detokenize` converts ids to text and
    keeps special tokens.
    """

    eos_ids: frozenset[int]
    max_new_tokens: int
    stop_strings: tuple[str, ...] = ()
    detokenize: Callable[[Sequence[int]], str] = lambda ids: ""

    def cut(self, kept: Sequence[int], emitted: Sequence[int]) -> tuple[int, Finish | None]:
        """Return the number (≥ 1) of `emitted` tokens to keep after `kept`, and the finish reason.

        The reason is None if the answer continues. The first token that ends the answer decides;
        for one token, EOS takes precedence over a stop string, and a stop string over the limit.
        """
        # Every token except the first is at least one byte long, so the longest stop string is in
        # the last `reach` tokens.
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


class RawRound(NamedTuple):
    """The raw data of a round, which are converted after the answer, outside the measured time."""

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


def _loose_tokens(raw_rounds: Iterable[RawRound]) -> Iterator[LooseToken]:
    """Yield every loose token with its index in the answer."""
    emitted = 0
    for raw in raw_rounds:
        decision = raw.decision
        pairs = zip(decision.loose_indices, decision.loose_statistics, strict=True)
        yield from (LooseToken(emitted + index, statistics) for index, statistics in pairs)
        emitted += len(decision.tokens)


@dataclass(frozen=True)
class Decoder:
    """A method on loaded models. `k` is the draft length."""

    target: Target
    drafter: Drafter
    verifier: Verifier
    k: int
    sampling: Sampling
    clock: Clock

    def decode(self, prompt_ids: Sequence[int], stop: StopRule, seed: int = 0) -> Generation:
        """Generate an answer to one prompt from an empty cache; the caller sets `text`.

        Time starts before both prefills. The first round emits the first token, so `first_token_s`
        includes the time of a draft.
        """
        generator = torch.Generator(self.target.device).manual_seed(seed)
        context = list(prompt_ids)
        answer: list[int] = []
        margins: list[float] = []
        raw_rounds: list[RawRound] = []
        finish: Finish | None = None
        start = self.clock.now()
        taps = self.target.prefill(prompt_ids[:-1])
        self.drafter.start(prompt_ids, taps, generator)
        prefilled = ended = self.clock.now()
        first_token = 0.0
        while finish is None:
            began, began_mark = ended, self.clock.mark()
            draft = self.drafter.propose(context, self.k).to(self.target.device)
            if len(draft) > self.k:
                raise FlybenchError(
                    f"the drafter proposed {len(draft)} tokens, but `limit` was {self.k}: propose "
                    "at most `limit`."
                )
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
            raw_rounds.append(RawRound(len(draft), decision, marks, ended - began))
        total_s = self.clock.now() - start
        return Generation(
            prompt_tokens=len(prompt_ids),
            ids=answer,
            text="",
            finish=finish,
            margins=margins,
            rounds=[raw.as_round(self.clock) for raw in raw_rounds],
            loose_tokens=list(_loose_tokens(raw_rounds)),
            traces=[row for raw in raw_rounds for row in raw.decision.traces],
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
    """Build the decoder of a method on loaded models.

    With `traces`, it keeps statistics of the target's distribution at every draft token.
    """
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
