"""EAGLE-2's dynamic draft tree, grown level by level on the device.

Source: EAGLE-2 (arXiv 2406.16858), section 4, and its code (SafeAILab/EAGLE). The best `top_k`
nodes of a level are expanded into `top_k` children each, and the best of all nodes form the draft.
The score of a node is the log probability of its path, so a child never scores above its parent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

# The largest log probability of a child. It keeps a child's score strictly below its parent's:
# with a tie, a child could be selected without its parent.
CERTAIN = -1e-4


class Level(NamedTuple):
    """The nodes that are expanded at one level.

    `ids` [k] are of the draft vocabulary; `features` [k, H] are those of their parents; `seen`
    [k, nodes] bool is the attention mask over all expanded nodes, including this level's.
    """

    ids: Tensor
    features: Tensor
    seen: Tensor


Expand = Callable[[int, Level], tuple[Tensor, Tensor]]
"""Runs the head on a level, given its number; returns features [k, H] and logits [k, V_d]."""


def grow_tree(
    feature: Tensor, logits: Tensor, expand: Expand, nodes: int, depth: int, top_k: int
) -> tuple[Tensor, Tensor]:
    """Return draft ids [nodes] and their parents (−1 for the root), parents before children.

    `feature` [H] and `logits` [V_d] are the head's output after the root. `depth` levels are
    expanded, so the longest path has depth + 1 nodes.
    """
    device = logits.device
    scores, ids = _children(logits[None], top_k)
    found = [(scores[0], ids[0], torch.full((top_k,), -1, device=device))]
    features = feature.repeat(top_k, 1)
    scores, ids = scores[0], ids[0]
    number = torch.arange(top_k, device=device)  # the level's nodes by their order of creation
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
