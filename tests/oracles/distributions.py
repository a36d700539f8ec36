"""Distributions over a small vocabulary: slow cuts of one row, and many verdicts drawn at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from flybench.core.drafts import Draft, TargetView
from flybench.sampling import Sampling, draw
from flybench.verify.base import Verifier


def warped(logits: Sequence[float], temperature: float, top_k: int, top_p: float) -> list[float]:
    """Temperature, then the k likeliest, then the shortest head with a mass of at least top_p."""
    weights = [math.exp(logit / temperature) for logit in logits]
    order = sorted(range(len(weights)), key=lambda token: -weights[token])
    if top_k:
        order = order[:top_k]
    total = sum(weights[token] for token in order)
    head, mass = [], 0.0
    for token in order:
        if mass >= top_p:
            break
        head.append(token)
        mass += weights[token] / total
    total = sum(weights[token] for token in head)
    return [weight / total if i in head else 0.0 for i, weight in enumerate(weights)]


def total_variation(dist: Tensor, other: Tensor) -> float:
    return float((dist - other).abs().sum() / 2)


def frequencies(draws: Tensor, size: int) -> Tensor:
    return torch.bincount(draws, minlength=size) / len(draws)


def judge_many(
    verifier: Verifier,
    tokens: Tensor,
    probs: Tensor | None,
    logits: Tensor,
    sampling: Sampling,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor, Tensor]:
    """B independent verdicts at once: accepted [B], next token [B], outcomes [B, N].

    `vmap` runs the verifier's own code on every row of the batch, with noise of its own for each.
    """

    def judge(tokens: Tensor, logits: Tensor, *probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        draft = Draft.chain(tokens, *probs)
        verdict = verifier.judge(draft, TargetView.of(logits), sampling, generator)
        return verdict.accepted, verdict.next_token, verdict.outcomes

    columns = (tokens, logits) if probs is None else (tokens, logits, probs)
    return torch.vmap(judge, randomness="different")(*columns)


def rounds(
    verifier: Verifier,
    target: Tensor,
    draft: Tensor,
    length: int,
    sampled: bool,
    sampling: Sampling,
    roots: Tensor,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """One round after each of `roots` [B]: emitted ids [B, length + 1] and how many are real [B].

    `target` and `draft` [V, V] hold logits by the token before. A draft that is not `sampled` is
    the draft's favourite and hands no distribution over.
    """
    previous, tokens, dists, rows = roots, [], [], [target[roots]]
    for _ in range(length):
        dist = sampling.warp(draft[previous])
        previous = draw(dist, generator) if sampled else dist.argmax(-1)
        tokens.append(previous)
        dists.append(dist)
        rows.append(target[previous])
    empty = torch.empty(len(roots), 0, dtype=torch.long)
    chain = torch.stack(tokens, 1) if tokens else empty
    probs = torch.stack(dists, 1) if sampled and dists else None
    accepted, correction, _ = judge_many(
        verifier, chain, probs, torch.stack(rows, 1), sampling, generator
    )
    emitted = torch.cat([chain, correction[:, None]], 1)
    emitted = emitted.scatter(1, accepted[:, None], correction[:, None])
    return emitted, accepted + 1


def first_two_tokens(
    verifier: Verifier,
    target: Tensor,
    draft: Tensor,
    length: int,
    sampled: bool,
    sampling: Sampling,
    draws: int,
    seed: int = 0,
) -> Tensor:
    """The first two tokens of `draws` answers [B, 2], from one round or, where it is short, two."""
    generator = torch.Generator().manual_seed(seed)
    setting = (verifier, target, draft, length, sampled, sampling)
    emitted, count = rounds(*setting, torch.zeros(draws, dtype=torch.long), generator)
    emitted = torch.nn.functional.pad(emitted, (0, 1))[:, :2]
    short = count == 1
    again, _ = rounds(*setting, emitted[short, 0], generator)
    emitted[short, 1] = again[:, 0]
    return emitted
