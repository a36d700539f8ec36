"""The growing cache holds what transformers' own cache holds, and copies less."""

from __future__ import annotations

import torch
from transformers import DynamicCache

from flybench.engine.eager.growable_cache import MIN_ROOM, growable_cache


def test_it_holds_what_the_dynamic_cache_holds() -> None:
    """Through growth, and through rollbacks that other tokens are written over."""
    ours, theirs = growable_cache(), DynamicCache()
    generator = torch.Generator().manual_seed(0)
    for tokens, back in ((1, 0), (300, 5), (1, 1), (MIN_ROOM, 100), (2, 0), (900, 899), (7, 0)):
        keys, values = torch.randn(2, 1, 3, tokens, 4, generator=generator)
        mine, plain = (cache.update(keys, values, 1) for cache in (ours, theirs))
        assert torch.equal(torch.stack(mine), torch.stack(plain))
        assert ours.get_seq_length(1) == theirs.get_seq_length(1)
        for cache in (ours, theirs):
            cache.crop(-back)


def test_a_step_leaves_the_text_where_it_is() -> None:
    cache = growable_cache()
    before, _ = cache.update(*torch.randn(2, 1, 2, 50, 4), 0)
    for _ in range(MIN_ROOM):
        after, _ = cache.update(*torch.randn(2, 1, 2, 1, 4), 0)
    assert after.data_ptr() == before.data_ptr()
    grown, _ = cache.update(*torch.randn(2, 1, 2, 1, 4), 0)
    assert grown.data_ptr() != before.data_ptr()
    assert torch.equal(grown[:, :, :-1], after)
