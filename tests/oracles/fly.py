"""FLy one token at a time, from the paper's equations 5 to 11 and the two codes that differ.

Positions are 1-based as in the paper. `judge` returns how many draft tokens stay and the class
of each position looked at, the rejected one last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Row = Sequence[float]


def softmax(logits: Row) -> list[float]:
    top = max(logits)
    weights = [math.exp(logit - top) for logit in logits]
    total = sum(weights)
    return [weight / total for weight in weights]


def entropy(rule: str, logits: Row) -> float:
    """The paper's whole entropy over ln V; the codes' sum over the three likeliest, in nats."""
    terms = [(p, -p * math.log(p) if p > 0 else 0.0) for p in softmax(logits)]
    if rule == "paper":
        return sum(term for _, term in terms) / math.log(len(logits))
    return sum(term for _, term in sorted(terms, reverse=True)[:3])


def argmax(logits: Row) -> int:
    return max(range(len(logits)), key=lambda token: logits[token])


def judge(
    rule: str, theta: float, window: int, draft: Sequence[int], logits: Sequence[Row]
) -> tuple[int, list[str]]:
    """Accepted length and classes: exact, loose, gate, tail or window."""
    size = len(draft)
    mismatch = [token != argmax(row) for token, row in zip(draft, logits, strict=False)]
    look = window - 1 if rule == "official" else window
    classes: list[str] = []
    for j in range(1, size + 1):
        if not mismatch[j - 1]:
            classes.append("exact")
            continue
        if entropy(rule, logits[j - 1]) < theta:
            return j - 1, [*classes, "gate"]
        if j + window > size:
            return j - 1, [*classes, "tail"]
        if any(mismatch[i - 1] for i in range(j + 1, j + look + 1)):
            return j - 1, [*classes, "window"]
        classes.append("loose")
    return size, classes


def emitted(kept: int, draft: Sequence[int], logits: Sequence[Row]) -> list[int]:
    """The kept tokens and the target's own choice after them."""
    return [*draft[:kept], argmax(logits[kept])]
