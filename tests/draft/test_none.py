"""The drafter that proposes nothing, and the choice of a drafter by its configuration."""

from __future__ import annotations

import torch

from flybench.config import DraftConfig
from flybench.draft import build_drafter
from flybench.draft.base import DraftSetup
from flybench.draft.lookup import LookupDrafter
from flybench.draft.model import ModelDrafter
from flybench.draft.nested import NestedDrafter
from flybench.draft.none import NoDrafter
from flybench.sampling import Sampling
from tests.helpers.toys import TableModel

CPU = torch.device("cpu")


def test_proposes_nothing_whatever_the_limit() -> None:
    drafter = NoDrafter(DraftSetup(CPU, 0, Sampling()))
    drafter.start([1, 2], None, None)
    draft = drafter.propose([1, 2, 3], 9)
    assert len(draft) == 0
    assert draft.tokens.dtype == torch.long
    assert draft.probs is None


def test_each_kind_has_its_drafter() -> None:
    model = TableModel(torch.zeros(3, 3))
    kinds = {
        "none": NoDrafter,
        "lookup": LookupDrafter,
        "model": ModelDrafter,
        "nested": NestedDrafter,
    }
    for kind, drafter in kinds.items():
        assert (
            type(build_drafter(DraftConfig.of(kind), DraftSetup(CPU, 5, Sampling(), model)))
            is drafter
        )


def test_a_greedy_draw_ignores_the_sampling_temperature() -> None:
    model = TableModel(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    setup = DraftSetup(CPU, 4, Sampling(1.0), model)
    for kind in ("model", "nested"):
        drafter = build_drafter(DraftConfig.of(kind, draw="greedy"), setup)
        drafter.start([0], None, torch.Generator().manual_seed(0))
        draft = drafter.propose([0], 4)
        assert draft.tokens.tolist() == [1, 0, 1, 0]
        assert draft.probs is None


def test_a_sampled_draw_hands_q_over() -> None:
    model = TableModel(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    setup = DraftSetup(CPU, 4, Sampling(1.0), model)
    for kind in ("model", "nested"):
        drafter = build_drafter(DraftConfig.of(kind), setup)
        drafter.start([0], None, torch.Generator().manual_seed(0))
        draft = drafter.propose([0], 4)
        assert draft.probs is not None
        assert draft.probs.shape == (4, 2)
