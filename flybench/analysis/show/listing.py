"""The samples of a run, those worth opening first: flips, then the most loosened."""

from __future__ import annotations

import numpy as np
import pandas as pd

from flybench.analysis.show.paint import line
from flybench.metrics.divergence import partings
from flybench.text import NONE, aligned, number, shorten

NAME = 28
FLIPS = {-1.0: "▼ lost", 1.0: "▲ won"}


def listing(own: pd.DataFrame, plain: pd.DataFrame) -> str:
    """A line a finished sample; frames are those of `sample_frame`, AR's may be empty."""
    table = own.join(plain, rsuffix="_ar").join(partings(plain, own))
    change = table["correct"] - table["correct_ar"]
    table["flip"] = np.sign(change.fillna(0.0))
    table["speed"] = table["total_s_ar"] / table["total_s"]
    table["flipped"] = table["flip"] != 0
    order = ["flipped", "flip", "loose"]
    table = table.sort_values(order, ascending=[False, True, False], kind="stable")
    head = ["sample", "flip", "right", "AR", "tokens", "loose", "parts at", "× as fast"]
    rows = [
        [
            shorten(line(str(name)), NAME),
            FLIPS.get(row["flip"], ""),
            *(number(row[column], 0) for column in ("correct", "correct_ar", "tokens", "loose")),
            NONE if pd.isna(row["place"]) else f"{row['place']:.0f}",
            number(row["speed"]),
        ]
        for name, row in zip(table.index, table.to_dict("records"), strict=True)
    ]
    return aligned([head, *rows], left=2)
