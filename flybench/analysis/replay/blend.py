"""One estimate from several recordings of the same samples.

The text that a loose setting emits is easier or harder to draft than the target's own. A replay
along the text of another setting is therefore less accurate, the more of its rounds diverge. Each
recording is weighted by the inverse square of its share of diverged rounds. A recording without
diverged rounds gets all the weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

FIRST_FIGURE = "tokens"  # the columns before it are settings


def blended(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the weighted mean, row by row, of one table for each recording."""
    diverged = np.stack([table["strayed"].to_numpy(float) for table in tables])
    least = diverged.min(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(least > 0, (least / diverged) ** 2, diverged == 0)
    shares = shares / shares.sum(0)
    mixed = tables[0].copy()
    for name in [*mixed][[*mixed].index(FIRST_FIGURE) :]:
        values = np.stack([table[name].to_numpy(float) for table in tables])
        kind = mixed[name].dtype
        value = np.where(shares > 0, shares * values, 0).sum(0)
        mixed[name] = value.round().astype(kind) if pd.api.types.is_integer_dtype(kind) else value
    return mixed
