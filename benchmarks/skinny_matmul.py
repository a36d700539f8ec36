"""Compare linear layers with and without blocks of the weight on this CPU; print one JSON line.

    python benchmarks/skinny_matmul.py [--shape qwen2.5-0.5b] [--threads N] [--repeats 15]

Passes of a model with random fp32 weights are timed for each number of rows, alternating between
PyTorch's linear layers and layers in blocks (`flybench/engine/eager/skinny_matmul.py`). The ratio
is plain ÷ blocks, above 1 if blocks are faster, with its interval over pairs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import numpy as np
import torch
from measuring import machine, mean_ratio

from flybench.engine.eager import skinny_matmul
from flybench.engine.eager.model import EagerModel
from flybench.engine.loading.shapes import random_weights, shape_config
from flybench.measure.environment import physical_cores

CPU = torch.device("cpu")
CONTEXT = 256
ROWS = (1, 2, 3, 4, 5, 9, 15, 16, 24, 32, 48, 64, 128)


def pass_s(model: EagerModel, rows: int, blocks: bool) -> float:
    """Return the seconds of a pass of `rows` tokens after a context of `CONTEXT` tokens."""
    skinny_matmul.supported_row_counts = lambda: range(1, 1 << 20) if blocks else range(0)  # type: ignore[assignment]
    start = time.perf_counter()
    model.extend(torch.arange(5, 5 + rows), rows=rows)
    spent = time.perf_counter() - start
    model.rollback(CONTEXT)
    return spent


def compared(model: EagerModel, rows: int, repeats: int) -> list[float]:
    """Return the geometric mean of the pairs' ratios, and the ends of its interval."""
    pairs = [[pass_s(model, rows, blocks) for blocks in (False, True)] for _ in range(repeats + 1)]
    mean, ends = mean_ratio(*np.array(pairs[1:]).T)  # the first one warms up
    return [mean, *(ends or ())]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", default="qwen2.5-0.5b")
    parser.add_argument("--threads", type=int, default=physical_cores())
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    config = shape_config(options.shape)
    model = EagerModel(random_weights(config, torch.float32, CPU), config.vocab_size)
    model.prefill([7 * index % 300 for index in range(CONTEXT)])
    ratios = {rows: compared(model, rows, options.repeats) for rows in ROWS}
    print(
        json.dumps(
            {"benchmark": "skinny_matmul", **machine(CPU), **vars(options), "ratios": ratios}
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
