"""A few rows in blocks: the same products, and nothing else is touched."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from flybench.engine.eager import skinny_matmul
from flybench.engine.eager.skinny_matmul import BLOCK, INTEL, ONE_THREAD, OTHERS, use_skinny_matmul

pytestmark = pytest.mark.skipif(
    not torch.backends.mkl.is_available(), reason="PyTorch is built without MKL here"
)


@pytest.fixture(autouse=True)
def smallest(monkeypatch: pytest.MonkeyPatch) -> int:
    """Small weights count, so that tests are quick; what counts else."""
    before = skinny_matmul.SMALLEST
    monkeypatch.setattr(skinny_matmul, "SMALLEST", 0)
    return before


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("worth", [INTEL, OTHERS, ONE_THREAD], ids=["intel", "others", "alone"])
@pytest.mark.parametrize("past", [-1, 0, 5])
def test_products_are_the_same(
    past: int, worth: range, bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At both ends of the range, beyond them and inside."""
    monkeypatch.setattr(skinny_matmul, "supported_row_counts", lambda: worth)
    in_blocks: list[int] = []
    multiply = torch.bmm

    def noting(rows: torch.Tensor, blocks: torch.Tensor) -> torch.Tensor:
        in_blocks.append(rows.shape[1])
        return multiply(rows, blocks)

    monkeypatch.setattr(torch, "bmm", noting)
    torch.manual_seed(0)
    plain = nn.Linear(48, 3 * BLOCK, bias=bias)
    blocked = copy.deepcopy(plain)
    use_skinny_matmul(blocked)
    for rows in (worth.start + past, worth.stop + past):
        for shape in ((rows, 48), (1, rows, 48)):
            x = torch.randn(shape)
            torch.testing.assert_close(blocked(x), plain(x))
        assert in_blocks == [rows] * 2 * (rows in worth)
        in_blocks.clear()


@pytest.mark.parametrize(
    ("vendor", "threads", "worth"),
    [("GenuineIntel", 1, INTEL), ("AuthenticAMD", 2, OTHERS), ("AuthenticAMD", 1, ONE_THREAD)],
)
def test_makers_and_threads_differ(
    vendor: str, threads: int, worth: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skinny_matmul, "_intel", lambda: vendor == "GenuineIntel")
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert skinny_matmul.supported_row_counts() == worth


@pytest.mark.parametrize("vendor", ["GenuineIntel", "AuthenticAMD"])
def test_the_maker_is_read_of_the_processor(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skinny_matmul, "cpu_line", {"vendor_id": vendor}.__getitem__)
    assert skinny_matmul._intel.__wrapped__() == (vendor == "GenuineIntel")


def test_only_plain_layers_that_divide_are_changed() -> None:
    class Special(nn.Linear):
        """A layer with a pass of its own."""

    odd, half = nn.Linear(8, BLOCK + 1), nn.Linear(8, BLOCK).bfloat16()
    model = nn.ModuleList([nn.Linear(8, BLOCK), Special(8, BLOCK), odd, half])
    use_skinny_matmul(model)
    assert ["forward" in vars(layer) for layer in model] == [True, False, False, False]


def test_small_weights_are_left_to_pytorch(smallest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skinny_matmul, "SMALLEST", smallest)
    columns = smallest // BLOCK
    model = nn.ModuleList([nn.Linear(columns, BLOCK), nn.Linear(columns - 1, BLOCK)])
    use_skinny_matmul(model)
    assert ["forward" in vars(layer) for layer in model] == [True, False]


def test_a_copy_is_on_its_own() -> None:
    model = nn.Sequential(nn.Linear(8, BLOCK))
    use_skinny_matmul(model)
    other, x = copy.deepcopy(model), torch.randn(5, 8)
    before = model(x)
    with torch.no_grad():
        other[0].weight.zero_()
        other[0].bias.zero_()
    assert other(x).abs().max() == 0
    torch.testing.assert_close(model(x), before)


def test_a_model_that_is_cast_is_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skinny_matmul, "supported_row_counts", lambda: OTHERS)
    model, x = nn.Sequential(nn.Linear(40, BLOCK)), torch.randn(5, 40, dtype=torch.bfloat16)
    use_skinny_matmul(model)
    model.bfloat16()
    assert torch.equal(model(x), F.linear(x, model[0].weight, model[0].bias))


def test_another_weight_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skinny_matmul, "supported_row_counts", lambda: OTHERS)
    model, x = nn.Sequential(nn.Linear(8, BLOCK)), torch.randn(5, 8)
    use_skinny_matmul(model)
    model[0].weight = nn.Parameter(torch.zeros(BLOCK, 8))
    torch.testing.assert_close(model(x), model[0].bias.expand(5, -1))
