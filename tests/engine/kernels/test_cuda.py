"""The Triton kernels against their plain versions, run by Triton's interpreter on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

# The interpreter is chosen when a kernel is defined: the checks need a process of their own.
SETUP = r"""
import math
import torch
import torch.nn.functional as F
from flybench.core.drafts import RowStatistics
from flybench.engine.kernels.attention import attend
from flybench.engine.kernels.cuda import attention, compact, linear, row_statistics

torch.manual_seed(0)
"""
CHECKS = {}
CHECKS["rows"] = r"""
for count, vocab in ((1, 3), (1, 300), (3, 5000), (2, 2048), (4, 9000)):
    logits = torch.randn(count, vocab) * 3
    if vocab == 9000:
        logits[0, 5] = logits[0, 7000] = 40  # a tie: the first index wins
        logits[1, 1:4] = torch.tensor([50.0, 49.0, 48.0])  # all three in one chunk
        logits[2, ::2100] = 45  # the three largest in chunks of their own
        logits[3, 100:] = -math.inf
    for ours, plain in zip(row_statistics.launch(logits), RowStatistics.of(logits), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-4)
logits[0, 4] = math.nan
assert row_statistics.launch(logits)[3].isnan().tolist() == [True, False, False, False]
"""
CHECKS["linear"] = r"""
for count, n, k in ((1, 40, 96), (3, 33, 512), (16, 16, 256), (17, 64, 100), (64, 8, 64)):
    for bias in (None, torch.randn(n)):
        x, weight = torch.randn(2, count, k)[1:], torch.randn(n, k)
        plain = F.linear(x, weight, bias)
        ours = linear.launch(x, weight, bias)
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-4)
for n, k in ((40, 96), (33, 512), (7, 2500)):
    for bias in (None, torch.randn(n)):
        x, weight = torch.randn(1, 1, k), torch.randn(n, k)
        ours = linear.launch_single_row(x, weight, bias)
        torch.testing.assert_close(ours, F.linear(x, weight, bias), rtol=1e-4, atol=1e-4)
"""
CHECKS["compact"] = r"""
for path, slots in (([0, 3, 4], 9), ([1, 2, 9, 20, 58], 64), ([0], 1)):
    cache = torch.randn(2, 3, slots + 10, 24)
    kept, first = cache.clone(), torch.tensor([7])
    nodes = torch.tensor(path)
    compact.launch(torch.tensor([cache.data_ptr()]), cache, first, nodes)
    assert torch.equal(cache[:, :, 7 : 7 + len(path)], kept[:, :, 7 + nodes])
    rest = slice(7 + len(path), None)
    assert torch.equal(cache[:, :, :7], kept[:, :, :7])
    assert torch.equal(cache[:, :, rest], kept[:, :, rest])
"""
CHECKS["attention"] = r"""
cases = (
    # heads, key heads, width, new, base, window, softcap, batch
    (4, 2, 16, 1, 5, 0, 0.0, 1),
    (4, 2, 64, 6, 200, 0, 0.0, 1),
    (8, 2, 24, 5, 130, 40, 0.0, 1),
    (4, 4, 32, 3, 0, 0, 5.0, 1),
    (8, 2, 16, 9, 250, 100, 3.0, 2),
    (2, 1, 16, 1, 383, 0, 0.0, 1),
    (2, 1, 24, 80, 0, 0, 0.0, 1),
    (2, 1, 16, 65, 300, 90, 3.0, 2),
)
for heads, kv, width, new, base, window, softcap, batch in cases:
    below = torch.rand(new, new).tril() + torch.eye(new)
    tree = None if window or new == 1 else below > 0.6
    query = torch.randn(batch, new, heads, width).transpose(1, 2)
    key = torch.randn(batch, new, kv, width).transpose(1, 2)
    value = torch.randn(batch, new, 2 * kv, width)[:, :, ::2].transpose(1, 2)
    cache = torch.randn(2, batch, kv, 384, width)
    cache[:, :, :, base:] = 0
    twin = cache.clone()
    cache[:, :, :, base:] = math.nan  # what lies behind the text is never read
    where, scale = torch.tensor([base]), width**-0.5
    for ancestors in {None, tree}:
        how = (where, scale, window, softcap, ancestors)
        plain = attend(query, key, value, twin[0], twin[1], *how)
        ours = attention.launch(query, key, value, cache[0], cache[1], *how)
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-4)
    assert torch.equal(cache[:, :, :, : base + new], twin[:, :, :, : base + new])
"""


@pytest.mark.slow
@pytest.mark.parametrize("kernel", CHECKS)
def test_kernel_equals_its_plain_version(kernel: str) -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SETUP + CHECKS[kernel]]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
