"""Costs of the parts of a round in seconds, from a measurement or from a run's own rounds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flybench.analysis.latency.measure import Result
from flybench.config import DRAFT_MODEL_KINDS
from flybench.core.errors import FlybenchError
from flybench.metrics.stats import Floats

FILE = "latency.json"
# Keys that a measurement must have.
NEEDED = {
    *("model", "models", "device", "engine", "engine_kind", "dtype", "weights", "method", "base"),
    *("points", "draft", "verdicts", "rounds"),
}


@dataclass(frozen=True)
class RoundCosts:
    """Cost model: a round of n draft tokens takes D(n) + V(n + 1) + o seconds, AR's `ar_round_s`.

    D is n · `draft_token_s`, or `draft_s` per round for drafters without a model. V interpolates
    `verify_s`, a pass and its verdict, between `widths`. o is `other_s`. `padded` engines verify in
    passes of one token or of a whole draft. `source` and `assumed` are printed with every result.
    """

    source: str
    assumed: tuple[str, ...]
    widths: Floats
    verify_s: Floats
    draft_token_s: float
    draft_s: float
    other_s: float
    ar_round_s: float
    padded: bool

    def seconds(self, drafted: Floats, k: int) -> Floats:
        """Return the seconds of rounds with `drafted` tokens each, at most `k`.

        Raises:
            FlybenchError: a pass would be wider than any that was measured.
        """
        width = np.where(drafted > 0, k + 1, 1) if self.padded else drafted + 1
        if len(width) and width.max() > self.widths[-1]:
            raise FlybenchError(
                f"the costs in {self.source} only cover passes of up to {self.widths[-1]:g} "
                f"tokens, but this run has {width.max():g}: run `flybench latency method.k={k}`."
            )
        verify = np.interp(width, self.widths, self.verify_s)
        return drafted * self.draft_token_s + self.draft_s + verify + self.other_s


def read_costs(path: Path) -> Result:
    """Read a latency.json, or that of a folder.

    Raises:
        FlybenchError: the file is missing, damaged, or not a measurement.
    """
    file = path / FILE if path.is_dir() else path
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or NEEDED - set(found):
        raise FlybenchError(
            f"{path} is not a latency measurement: pass a latency.json file, or the folder "
            "that `flybench latency` printed."
        )
    return found


def measured_costs(
    result: Result, source: str, method: dict[str, Any], rounds: pd.DataFrame
) -> RoundCosts:
    """Return the costs of the recorded `rounds` of a method with settings `method`, from a
    measurement.

    Raises:
        FlybenchError: the measurement lacks a part that the method needs.
    """
    kind, rule = method["draft"]["kind"], method["verify"]["kind"]
    models = kind in DRAFT_MODEL_KINDS
    verdicts, drafts = result["verdicts"], result["draft"]
    passes = _passes(result)
    if verdicts is None or (models and drafts is None) or 1 not in passes:
        raise FlybenchError(
            f"{source} was measured with method={result['method']['name']} and has no costs for "
            f"{method['name']}: run `flybench latency method={method['name']}`."
        )
    widths = np.array(sorted(passes), dtype=float)
    times = np.array([passes[width] for width in widths])
    own = result["rounds"][result["method"]["name"]]
    return RoundCosts(
        source=f"{source} ({result['model']} on {result['device']}, engine {result['engine']}, "
        f"{result['weights']} weights)",
        assumed=_assumptions(result, method),
        widths=widths,
        verify_s=times + verdicts[rule]["median_s"],
        draft_token_s=drafts["median_s"] / result["method"]["k"] if models else 0.0,
        draft_s=0.0 if models else float(rounds["draft_s"].mean()),
        other_s=own["other"]["median_s"],
        ar_round_s=plain_round_s(result),
        padded=result["engine_kind"] == "graph",
    )


def plain_round_s(result: Result) -> float:
    """Return the seconds of a round of AR, from a measurement with passes of one token and
    verdicts."""
    plain = result["rounds"]["ar"]
    idle = plain["draft"]["median_s"] + plain["other"]["median_s"]
    return float(_passes(result)[1] + result["verdicts"]["exact"]["median_s"] + idle)


def _passes(result: Result) -> dict[int, float]:
    """Return the seconds of the target's passes by width, at the base context and batch."""
    return {
        row["width"]: row["median_s"]
        for row in result["points"]
        if row["model"] == "target" and row["varied"] in ("base", "width") and row["median_s"]
    }


def recorded_costs(plain: pd.DataFrame, rounds: pd.DataFrame, method: dict[str, Any]) -> RoundCosts:
    """Return the mean costs of recorded rounds: `plain` are AR's, `rounds` the method's."""
    models = method["draft"]["kind"] in DRAFT_MODEL_KINDS
    everything = pd.concat([plain, rounds])
    verify = everything.groupby("drafted")["verify_s"].mean().sort_index()
    total = plain[["draft_s", "verify_s", "other_s"]].sum(axis=1)
    return RoundCosts(
        source="the run's own recorded times",
        assumed=("every round takes the mean time of its kind",),
        widths=verify.index.to_numpy(dtype=float) + 1,
        verify_s=verify.to_numpy(dtype=float),
        draft_token_s=rounds["draft_s"].sum() / rounds["drafted"].sum() if models else 0.0,
        draft_s=0.0 if models else float(rounds["draft_s"].mean()),
        other_s=float(rounds["other_s"].mean()),
        ar_round_s=float(total.mean()),
        padded=False,
    )


def _assumptions(result: Result, method: dict[str, Any]) -> tuple[str, ...]:
    kind, base = method["draft"]["kind"], result["base"]
    assumed = [f"every round takes the time measured at a context of {base['context']} tokens"]
    if kind == "nested":
        assumed.append("each draft token takes a step of the draft model, and lookup saves none")
    if kind not in DRAFT_MODEL_KINDS:
        assumed.append("drafting on the host takes the recorded time")
    if result["engine_kind"] == "graph":
        assumed.append("a shorter draft is verified in a pass of full width")
    if result["method"]["name"] != method["name"]:
        assumed.append(f"the rest of a round takes as long as with {result['method']['name']}")
    return tuple(assumed)
