"""Who proposes: one file a drafter, chosen by `method.draft.kind`."""

from __future__ import annotations

import torch

from flybench.config import DraftConfig
from flybench.draft.base import Drafter
from flybench.draft.lookup import LookupDrafter
from flybench.draft.model import ModelDrafter
from flybench.draft.nested import NestedDrafter
from flybench.draft.none import NoDrafter
from flybench.engine.base import CachedModel
from flybench.sampling import Sampling

GREEDY = Sampling()


def build_drafter(
    config: DraftConfig, model: CachedModel | None, sampling: Sampling, device: torch.device
) -> Drafter:
    """The drafter of `config`; `model` is needed for the kinds that draft with one."""
    if config.kind == "none":
        return NoDrafter(device)
    if config.kind == "lookup":
        return LookupDrafter(config.ngram_max, config.ngram_min, device)
    assert model is not None, "RunConfig refuses a drafting method without a draft model"
    own = GREEDY if config.draw == "greedy" else sampling
    if config.kind == "model":
        return ModelDrafter(model, own)
    return NestedDrafter(model, own, config.ngram_max, config.ngram_min, config.lookup_tokens)
