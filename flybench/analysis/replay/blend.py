"""One estimate from several recordings of the same samples.

A loose setting writes a text of its own, whose tokens are more or less easy to draft than those of
the target alone, so that a replay along another setting's text is off by more, the oftener it would
have left it. Each recording therefore counts by the inverse square of its share of strayed rounds;
one that a setting never leaves is that setting's own, and counts alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

FIRST_FIGURE = "tokens"  # the columns before it are settings


def blended(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Replays of the same methods over several recordings, row by row, as one table like each."""
    strayed = np.stack([table["strayed"].to_numpy(float) for table in tables])
    least = strayed.min(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(least > 0, (least / strayed) ** 2, strayed == 0)
    shares = shares / shares.sum(0)
    mixed = tables[0].copy()
    for name in [*mixed][[*mixed].index(FIRST_FIGURE) :]:
        values = np.stack([table[name].to_numpy(float) for table in tables])
        kind = mixed[name].dtype
        value = np.where(shares > 0, shares * values, 0).sum(0)
        mixed[name] = value.round().astype(kind) if pd.api.types.is_integer_dtype(kind) else value
    return mixed
