"""Who proposes: one file a drafter, chosen by `method.draft.kind`."""

from __future__ import annotations

import torch

from flybench.config import DraftConfig
from flybench.draft.base import Drafter
from flybench.draft.eagle3 import Eagle3Drafter, Shape
from flybench.draft.lookup import LookupDrafter
from flybench.draft.model import ModelDrafter
from flybench.draft.nested import NestedDrafter
from flybench.draft.none import NoDrafter
from flybench.engine.base import CachedModel
from flybench.engine.eagle3.model import HeadModel
from flybench.sampling import Sampling

GREEDY = Sampling()


def build_drafter(
    config: DraftConfig,
    model: CachedModel | HeadModel | None,
    sampling: Sampling,
    device: torch.device,
    k: int,
) -> Drafter:
    """The drafter of `config`; `model` is needed for the kinds that draft with one.

    The engine prepares the passes of a draft of `k` tokens here, before anything is timed.
    """
    if config.kind == "none":
        return NoDrafter(device)
    if config.kind == "lookup":
        return LookupDrafter(config.ngram_max, config.ngram_min, device)
    if isinstance(model, HeadModel):
        return Eagle3Drafter(model, Shape(k, config.tree_depth, config.tree_top_k))
    assert model is not None, "RunConfig refuses a drafting method without a draft model"
    own = GREEDY if config.draw == "greedy" else sampling
    if config.kind == "model":
        model.drafting(k, own)
        return ModelDrafter(model, own)
    model.reading(config.lookup_tokens + 2, own)
    return NestedDrafter(model, own, config.ngram_max, config.ngram_min, config.lookup_tokens)
