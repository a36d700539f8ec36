"""Replay of one setting along a recorded text, round by round.

The rules of `flybench.verify` are applied to drafts from all positions of the text at once. If a
round emits the recorded tokens, the next round starts right after them. If it emits other tokens,
the round diverges and its continuation is unknown. The next round then starts that many tokens
further along the recorded text. After a correction it starts at the nearest recorded position that
follows a correction, because drafts there match less often than elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from flybench.analysis.replay.drafts import Drafts, ImputedRows
from flybench.analysis.replay.traced_rows import Bools, Ints
from flybench.config import MethodConfig
from flybench.core.outcomes import Outcome
from flybench.sampling import Sampling
from flybench.verify import build_rule
from flybench.verify.base import ReplayableRule, Verifier, accepted_prefix, match_outcomes
from flybench.verify.fly import kept


@dataclass(frozen=True)
class Rounds:
    """The rounds of a replay, in order.

    Attributes:
        answer: index of the answer of each round.
        drafted, accepted, loose, emitted: numbers of tokens, after truncation at the answer's end.
        outcomes: outcome of every draft token [rounds, K]; 0 for a token that was not reached.
        imputed: number of reached tokens that are not in the traces.
        diverged: whether the round left the recorded text.
        loose_rows: rows of the loose tokens that were kept.
        loose_index: index of each of them in its answer.
        loose_answer: index of the answer of each of them.
    """

    answer: Ints
    drafted: Ints
    accepted: Ints
    loose: Ints
    emitted: Ints
    outcomes: Ints
    imputed: Ints
    diverged: Bools
    loose_rows: Ints
    loose_index: Ints
    loose_answer: Ints


def walk(imputed_rows: ImputedRows, drafts: Drafts, method: MethodConfig) -> Rounds:
    """Replay `method`, whose K is the size of `drafts`, from the start of every answer."""
    outcomes = _judge_all(imputed_rows, drafts, method)
    accepted = accepted_prefix(kept(torch.from_numpy(outcomes))).numpy()
    next_start, diverged = _next_starts(imputed_rows, drafts, accepted)
    answer, place = _visit(imputed_rows, next_start)
    begins, ends = (imputed_rows.rows.answers[name].to_numpy() for name in ("begin", "end"))
    emitted = np.minimum(accepted[place] + 1, ends[answer] - place)
    own, steps = outcomes[place], np.arange(outcomes.shape[1])
    loose = (own == Outcome.LOOSE) & (steps < emitted[:, None])
    return Rounds(
        answer=answer,
        drafted=drafts.length[place],
        accepted=np.minimum(accepted[place], emitted),
        loose=loose.sum(1),
        emitted=emitted,
        outcomes=own,
        imputed=(drafts.imputed[place] & (own != Outcome.NOT_REACHED)).sum(1),
        diverged=diverged[place],
        loose_rows=imputed_rows.source_row[drafts.rows[place, :-1][loose]],
        loose_index=((place - begins[answer])[:, None] + steps)[loose],
        loose_answer=answer.repeat(loose.sum(1)),
    )


def _judge_all(imputed_rows: ImputedRows, drafts: Drafts, method: MethodConfig) -> Ints:
    """Return the outcomes of every draft [P, K]."""
    rule, vocab_size = build_rule(method.verify, Sampling()), imputed_rows.rows.vocab_size
    inputs = (drafts.match, drafts.entropy, drafts.top3_entropy)
    outcomes = torch.zeros(drafts.match.shape, dtype=torch.long)
    lengths = torch.from_numpy(drafts.length)
    for length in np.unique(drafts.length[drafts.length > 0]).tolist():
        # A window must fit in its draft, so drafts of each length are judged separately.
        chosen = slice(None) if (lengths == length).all() else lengths == length
        match, entropy, top3 = (part[chosen, :length] for part in inputs)
        outcomes[chosen, :length] = _judge(rule, match, entropy, top3, vocab_size)
    visited = torch.arange(method.k) <= accepted_prefix(kept(outcomes))[:, None]
    return outcomes.where(visited, int(Outcome.NOT_REACHED)).numpy()


def _judge(rule: Verifier, match: Tensor, entropy: Tensor, top3: Tensor, vocab_size: int) -> Tensor:
    if isinstance(rule, ReplayableRule):
        return rule.replay(match, entropy, top3, vocab_size)
    return match_outcomes(match, Outcome.EXACT)


def _next_starts(imputed_rows: ImputedRows, drafts: Drafts, accepted: Ints) -> tuple[Ints, Bools]:
    """Return the start of the next round after each position, and whether the text was left."""
    rows = imputed_rows.rows
    places, ends = np.arange(len(accepted)), rows.answers["end"].to_numpy()
    own_end = ends[np.searchsorted(ends, places, side="right")]
    last = drafts.rows[places, accepted]
    aligned = places + accepted + 1
    diverged = (rows.text[last] != aligned - 1) | ~rows.chosen[last]
    diverged &= aligned < own_end  # a round that ends its answer does not diverge
    rejected = accepted < drafts.length
    near = _nearest(rows.corrected, aligned, places, own_end)
    return np.where(diverged & rejected, near, aligned), diverged


def _nearest(corrected: Ints, wanted: Ints, after: Ints, before: Ints) -> Ints:
    """Return the position of `corrected` nearest to each of `wanted`, between `after` and `before`.

    Without one, return the wanted position itself.
    """
    padded = np.concatenate([[-1], corrected, [np.iinfo(np.int64).max]])
    right = np.searchsorted(padded, wanted)
    found = padded[[right - 1, right]]
    distance = np.abs(found - wanted).astype(float)
    distance[(found <= after) | (found >= before)] = np.inf
    best = distance.argmin(0)
    places = np.arange(len(wanted))
    possible = np.isfinite(distance[best, places])
    return np.where(possible, found[best, places], wanted)


def _visit(imputed_rows: ImputedRows, next_start: Ints) -> tuple[Ints, Ints]:
    """Return the answer and the start position of every round, in order."""
    answers = imputed_rows.rows.answers
    number, end = np.arange(len(answers)), answers["end"].to_numpy()
    place = answers["begin"].to_numpy()
    found = []
    while len(number):
        found.append((number, place))
        place = next_start[place]
        inside = place < end[number]
        number, place = number[inside], place[inside]
    answer, start = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(answer, kind="stable")
    return answer[order], start[order]
