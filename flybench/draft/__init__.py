"""Propose: one file a drafter, chosen by `method.draft.kind`."""

from __future__ import annotations

from flybench.config import DraftConfig
from flybench.core.loading import load_class
from flybench.draft.base import Drafter, DraftSetup


def build_drafter(config: DraftConfig, setup: DraftSetup) -> Drafter:
    """The drafter of `config`, with the passes that it needs prepared by the engine."""
    (declaration,) = config.declared
    made: Drafter = load_class(declaration.file, declaration.class_name)(
        setup, **dict(config.values)
    )
    return made
