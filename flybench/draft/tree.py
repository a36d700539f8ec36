"""EAGLE-2's dynamic tree: the likeliest continuations, grown level by level on the device.

Source: EAGLE-2 (arXiv 2406.16858), section 4, and its code (SafeAILab/EAGLE). The `top_k` best
nodes of a level are expanded into `top_k` children each; of all nodes seen, the best stay. A node's
score is the log of its path's probability under the draft, so that no child outdoes its parent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

# A child scores strictly below its parent, even if the draft is certain of it: else a tie could
# keep a child whose parent is dropped.
CERTAIN = -1e-4


class Level(NamedTuple):
    """The nodes that a level expands.

    `ids` [k] of the draft vocabulary, `features` [k, H] of the nodes before them, `seen` [k, nodes]
    bool says which of the nodes expanded so far, and of this level's own, each of them may read.
    """

    ids: Tensor
    features: Tensor
    seen: Tensor


Expand = Callable[[int, Level], tuple[Tensor, Tensor]]
"""Reads a level, given its number: features [k, H] and logits [k, V_d] after each node."""


def grow_tree(
    feature: Tensor, logits: Tensor, expand: Expand, nodes: int, depth: int, top_k: int
) -> tuple[Tensor, Tensor]:
    """Draft ids [nodes] and their parents (−1 for the root), parents before children.

    `feature` [H] and `logits` [V_d] follow the root. `depth` levels are expanded after it, so that
    the longest path has depth + 1 nodes.
    """
    device = logits.device
    scores, ids = _children(logits[None], top_k)
    found = [(scores[0], ids[0], torch.full((top_k,), -1, device=device))]
    features = feature.repeat(top_k, 1)
    scores, ids = scores[0], ids[0]
    number = torch.arange(top_k, device=device)  # of the level's nodes in the order of creation
    own = torch.eye(top_k, dtype=torch.bool, device=device)
    seen = own
    made = top_k
    for level in range(depth):
        hidden, logits = expand(level, Level(ids, features, seen))
        steps, children = _children(logits, top_k)
        grown = (scores[:, None] + steps).flatten()
        found.append((grown, children.flatten(), number.repeat_interleave(top_k)))
        scores, best = grown.topk(top_k)
        parent = best // top_k
        ids, features = children.flatten()[best], hidden[parent]
        seen = torch.cat([seen[parent], own], -1)
        number = made + best
        made += top_k * top_k
    all_scores, all_ids, all_parents = (torch.cat(part) for part in zip(*found, strict=True))
    kept = all_scores.topk(min(nodes, made)).indices.sort().values
    parents = torch.searchsorted(kept, all_parents[kept])
    return all_ids[kept], parents.where(all_parents[kept] >= 0, -1)


def _children(logits: Tensor, top_k: int) -> tuple[Tensor, Tensor]:
    best = logits.float().log_softmax(-1).topk(top_k)
    return best.values.clamp(max=CERTAIN), best.indices
