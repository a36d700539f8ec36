"""The Triton kernels behind `row_statistics`: chunks of the vocabulary, then a merge per row."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

CHUNK = 2048
FIELDS = 6  # three largest logits, index of the first, mass, mass-weighted logit


@triton.jit
def _top3(values, index):
    """The three largest of `values`, and the smallest index of the first of them."""
    far: tl.constexpr = 2147483647
    low = -float("inf")
    first = tl.max(values, 0)
    choice = tl.min(tl.where(values == first, index, far), 0)
    values = tl.where(index == choice, low, values)
    second = tl.max(values, 0)
    place = tl.min(tl.where(values == second, index, far), 0)
    third = tl.max(tl.where(index == place, low, values), 0)
    return first, second, third, choice


@triton.jit
def _chunk(x_ptr, part_ptr, vocab, stride, chunks, FIELDS: tl.constexpr, CHUNK: tl.constexpr):
    row, chunk = tl.program_id(0), tl.program_id(1)
    index = chunk * CHUNK + tl.arange(0, CHUNK)
    x = tl.load(x_ptr + row * stride + index, mask=index < vocab, other=-float("inf"))
    x = x.to(tl.float32)
    first, second, third, choice = _top3(x, index)
    nothing = first == -float("inf")
    safe = tl.where(nothing, 0.0, first)
    weight = tl.exp(x - safe)
    mass = tl.sum(weight, 0)
    moment = tl.sum(tl.where(weight > 0, weight * (x - safe), 0.0), 0)
    part = part_ptr + (row * chunks + chunk) * FIELDS
    tl.store(part, first)
    tl.store(part + 1, second)
    tl.store(part + 2, third)
    tl.store(part + 3, choice.to(tl.float32))  # exact below 2**24
    tl.store(part + 4, mass)
    tl.store(part + 5, moment)


@triton.jit
def _merge(
    part_ptr, choice_ptr, top_ptr, normaliser_ptr, entropy_ptr, chunks,
    FIELDS: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    low = -float("inf")
    chunk = tl.arange(0, CHUNKS)
    part = part_ptr + (row * chunks + chunk) * FIELDS
    here = chunk < chunks
    firsts = tl.load(part, mask=here, other=low)
    seconds = tl.load(part + 1, mask=here, other=low)
    thirds = tl.load(part + 2, mask=here, other=low)
    indices = tl.load(part + 3, mask=here, other=0.0).to(tl.int32)
    masses = tl.load(part + 4, mask=here, other=0.0)
    moments = tl.load(part + 5, mask=here, other=0.0)
    # Comparisons with NaN are false, so it is checked for, and makes all statistics of its row NaN.
    broken = tl.sum((masses != masses).to(tl.int32), 0) > 0
    first = tl.max(firsts, 0)
    winner = tl.min(tl.where(firsts == first, chunk, CHUNKS), 0)
    choice = tl.sum(tl.where(chunk == winner, indices, 0), 0)
    # The second largest may come from the same chunk as the first, or lead another one.
    firsts_left = tl.where(chunk == winner, seconds, firsts)
    second = tl.max(firsts_left, 0)
    runner = tl.min(tl.where(firsts_left == second, chunk, CHUNKS), 0)
    behind = tl.where(runner == winner, thirds, seconds)
    third = tl.max(tl.where(chunk == runner, behind, firsts_left), 0)
    weight = tl.where(here, tl.exp(firsts - first), 0.0)
    mass = tl.sum(weight * masses, 0)
    shift = tl.where(masses > 0, firsts - first, 0.0)
    moment = tl.sum(weight * (moments + masses * shift), 0)
    spoilt = tl.where(broken, float("nan"), 0.0)
    tl.store(choice_ptr + row, choice.to(tl.int64))
    tl.store(top_ptr + row * 3, first + spoilt)
    tl.store(top_ptr + row * 3 + 1, second + spoilt)
    tl.store(top_ptr + row * 3 + 2, third + spoilt)
    tl.store(normaliser_ptr + row, first + tl.log(mass) + spoilt)
    tl.store(entropy_ptr + row, tl.log(mass) - moment / mass + spoilt)


def launch(logits: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`row_statistics` on CUDA, for V ≥ 3."""
    rows, vocab = logits.shape
    chunks = triton.cdiv(vocab, CHUNK)

    def new(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.empty(shape, device=logits.device, dtype=dtype)

    part, top = new(rows, chunks, FIELDS), new(rows, 3)
    choice, normaliser, entropy = new(rows, dtype=torch.long), new(rows), new(rows)
    _chunk[(rows, chunks)](
        logits, part, vocab, logits.stride(0), chunks, FIELDS, CHUNK, num_warps=4
    )
    many = triton.next_power_of_2(chunks)
    _merge[(rows,)](part, choice, top, normaliser, entropy, chunks, FIELDS, many, num_warps=2)
    return choice, top, normaliser, entropy
