"""Projected speed-ups of replays, using step costs from `flybench latency`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from flybench.analysis.latency.costs import RoundCosts, measured_costs
from flybench.analysis.latency.projection import allowed_costs, projection
from flybench.analysis.replay.grid import recorded_config
from flybench.analysis.replay.traced_rows import Rows
from flybench.analysis.replay.walk import Rounds
from flybench.config import BASELINE, MethodConfig, to_tree
from flybench.metrics.frames import round_frame
from flybench.records.folder import RunFolder


class ProjectedSpeedups:
    """Columns of the projected `speedup` of each replay and the ends of its interval.

    `latency` is the file of costs. `shares` is, by kind of drafter, the cost of a draft token as
    a share of a step of the draft model, which is less than 1 with lookup.
    """

    def __init__(
        self,
        folder: RunFolder,
        latency: Path,
        shares: Mapping[str, float] | None = None,
    ) -> None:
        self._result = allowed_costs(folder, folder.provenance(), latency)
        self._source, self._shares = str(latency), shares or {}
        self._plain = round_frame(folder, BASELINE)
        self._recorded = round_frame(folder, recorded_config(folder).method.name)

    def __call__(self, method: MethodConfig, rounds: Rounds, rows: Rows) -> dict[str, Any]:
        sample_ids = rows.answers["sample_id"].to_numpy()[rounds.answer]
        replayed = pd.DataFrame(
            {"sample_id": sample_ids, "drafted": rounds.drafted, "emitted": rounds.emitted}
        )
        found = projection(self._plain, replayed, self._costs(method), method.k)
        low, high = found.interval or (None, None)
        return {"speedup": found.point, "speedup_low": low, "speedup_high": high}

    def _costs(self, method: MethodConfig) -> RoundCosts:
        costs = measured_costs(self._result, self._source, to_tree(method), self._recorded)
        share = self._shares.get(method.draft.kind, 1.0)
        return replace(costs, draft_token_s=share * costs.draft_token_s)
