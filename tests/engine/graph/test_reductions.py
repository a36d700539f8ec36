"""Which reductions a program holds at once: a matter of their length, never of the rows."""

from __future__ import annotations

import pytest
import torch
from torch._inductor import config
from torch._inductor.runtime.hints import ReductionHint
from torch._inductor.virtualized import V

from flybench.engine.graph.reductions import RowInvariantReductions, use_row_invariant_reductions


class Sizes:
    """Answers as Inductor does where every length is a number."""

    def statically_known_geq(self, left: int, right: int) -> bool:
        return left >= right

    def statically_known_leq(self, left: int, right: int) -> bool:
        return left <= right


class Graph:
    sizevars = Sizes()


class Features:
    def __init__(self, length: int) -> None:
        self.reduction_numel = length

    def get_reduction_hint(self) -> ReductionHint:
        return ReductionHint.INNER


@pytest.mark.parametrize(
    ("length", "held"),
    [
        (64, False),
        (128, False),
        (256, True),
        (896, True),
        (1536, True),
        (16384, True),
        (32768, False),
    ],
)
def test_rows_are_held_by_their_length(length: int, held: bool) -> None:
    with V.set_graph_handler(Graph()):
        found = RowInvariantReductions.should_use_persistent_reduction(Features(length), False)  # type: ignore[arg-type]
    assert found is held


@pytest.mark.slow
def test_compiled_code_uses_the_choice_and_the_cache_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    before = V.choices
    monkeypatch.setattr(config, "inductor_choices_class", None)
    key = str(config.save_config_portable(ignore_private_configs=False))
    try:
        use_row_invariant_reductions()
        assert isinstance(V.choices, RowInvariantReductions)
        assert str(config.save_config_portable(ignore_private_configs=False)) != key
        norm = torch.compile(lambda x: torch.nn.functional.rms_norm(x, (1536,)), dynamic=False)
        x = torch.randn(3, 1536)
        assert torch.allclose(norm(x), torch.nn.functional.rms_norm(x, (1536,)), atol=1e-5)
    finally:
        V.set_choices_handler(before)
