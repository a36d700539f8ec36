"""Going along a recorded text, round by round, as a setting's own verdicts say.

The verdict on the draft from every place of the text is the verifier's (`flybench.verify`), for all
places at once. A round that emits what the text has goes on right behind it. One that emits
something else leaves the recorded text, and nothing is known of what would have come: it goes on as
many tokens further in the recorded text, and, after a correction, at the nearest place there that
follows one, since drafts after a correction are right less often than elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from flybench.analysis.replay.drafts import Continued, Drafts
from flybench.analysis.replay.rows import Bools, Ints
from flybench.config import MethodConfig
from flybench.core.outcomes import Outcome
from flybench.sampling import Sampling
from flybench.verify import build_rule
from flybench.verify.base import ReplayableRule, Verifier, accepted_prefix, match_outcomes
from flybench.verify.fly import kept


@dataclass(frozen=True)
class Rounds:
    """The rounds of a replay, answer by answer and in order.

    `answer` numbers the answer of each round; counts are of tokens kept after truncation at the
    answer's end; `outcomes` [rounds, K] are 0 where a token was not reached; `guessed` counts the
    reached tokens that no trace holds; `strayed` says that the round left the recorded text.
    `loose_tokens` are the rows of the loose tokens that were kept, at places `loosened_at` of
    answers `loosened_in`.
    """

    answer: Ints
    drafted: Ints
    accepted: Ints
    loose: Ints
    emitted: Ints
    outcomes: Ints
    guessed: Ints
    strayed: Bools
    loose_tokens: Ints
    loosened_at: Ints
    loosened_in: Ints


def walk(continued: Continued, drafts: Drafts, method: MethodConfig) -> Rounds:
    """Replay `method`, whose K is the size of `drafts`, from the start of every answer."""
    outcomes = _fates(continued, drafts, method)
    accepted = accepted_prefix(kept(torch.from_numpy(outcomes))).numpy()
    landing, strayed = _landings(continued, drafts, accepted)
    answer, place = _visit(continued, landing)
    begins, ends = (continued.rows.answers[name].to_numpy() for name in ("begin", "end"))
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
        guessed=(drafts.guessed[place] & (own != Outcome.NOT_REACHED)).sum(1),
        strayed=strayed[place],
        loose_tokens=continued.told[drafts.rows[place, :-1][loose]],
        loosened_at=((place - begins[answer])[:, None] + steps)[loose],
        loosened_in=answer.repeat(loose.sum(1)),
    )


def _fates(continued: Continued, drafts: Drafts, method: MethodConfig) -> Ints:
    """The verdict on every draft: [P, K]."""
    rule, words = build_rule(method.verify, Sampling()), continued.rows.words
    facts = (drafts.match, drafts.entropy, drafts.top3_entropy)
    outcomes = torch.zeros(drafts.match.shape, dtype=torch.long)
    lengths = torch.from_numpy(drafts.length)
    for length in np.unique(drafts.length[drafts.length > 0]).tolist():
        # A window must fit in its draft, so that shorter ones are judged apart.
        chosen = slice(None) if (lengths == length).all() else lengths == length
        match, entropy, top3 = (part[chosen, :length] for part in facts)
        outcomes[chosen, :length] = _judge(rule, match, entropy, top3, words)
    visited = torch.arange(method.k) <= accepted_prefix(kept(outcomes))[:, None]
    return outcomes.where(visited, int(Outcome.NOT_REACHED)).numpy()


def _judge(rule: Verifier, match: Tensor, entropy: Tensor, top3: Tensor, words: int) -> Tensor:
    if isinstance(rule, ReplayableRule):
        return rule.replay(match, entropy, top3, words)
    return match_outcomes(match, Outcome.EXACT)


def _landings(continued: Continued, drafts: Drafts, accepted: Ints) -> tuple[Ints, Bools]:
    """Where the round after that from each place begins, and whether the text was left."""
    rows = continued.rows
    places, ends = np.arange(len(accepted)), rows.answers["end"].to_numpy()
    own_end = ends[np.searchsorted(ends, places, side="right")]
    last = drafts.rows[places, accepted]
    aligned = places + accepted + 1
    strayed = (rows.text[last] != aligned - 1) | ~rows.chosen[last]
    strayed &= aligned < own_end  # an answer that ends goes nowhere
    refused = accepted < drafts.length
    near = _nearest(rows.corrected, aligned, places, own_end)
    return np.where(strayed & refused, near, aligned), strayed


def _nearest(corrected: Ints, wanted: Ints, after: Ints, before: Ints) -> Ints:
    """The nearest of the places `corrected` to each of `wanted` between the two, else itself."""
    padded = np.concatenate([[-1], corrected, [np.iinfo(np.int64).max]])
    right = np.searchsorted(padded, wanted)
    found = padded[[right - 1, right]]
    distance = np.abs(found - wanted).astype(float)
    distance[(found <= after) | (found >= before)] = np.inf
    best = distance.argmin(0)
    places = np.arange(len(wanted))
    possible = np.isfinite(distance[best, places])
    return np.where(possible, found[best, places], wanted)


def _visit(continued: Continued, landing: Ints) -> tuple[Ints, Ints]:
    """Every round's answer and the place where it begins, in order."""
    answers = continued.rows.answers
    number, end = np.arange(len(answers)), answers["end"].to_numpy()
    place = answers["begin"].to_numpy()
    found = []
    while len(number):
        found.append((number, place))
        place = landing[place]
        inside = place < end[number]
        number, place = number[inside], place[inside]
    answer, assistant_prefix = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(answer, kind="stable")
    return answer[order], assistant_prefix[order]
