"""Drafters, one module each; `method.draft.kind` selects one."""

from __future__ import annotations

from flybench.config import DraftConfig
from flybench.core.loading import load_class
from flybench.draft.base import Drafter, DraftSetup


def build_drafter(config: DraftConfig, setup: DraftSetup) -> Drafter:
    """Build the drafter of `config`; the engine prepares the passes that it needs."""
    (declaration,) = config.declared
    drafter: Drafter = load_class(declaration.file, declaration.class_name)(
        setup, **dict(config.values)
    )
    return drafter
