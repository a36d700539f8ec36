"""Cost of a round in target steps, bandwidth utilisation per step, and energy per token.

A step is one forward pass of the target over one token and takes t1 seconds. A round takes
γ·c + v + o steps with a method and 1 + o_ar steps with AR. The speed-up is therefore
τ · (1 + o_ar) / (γ·c + v + o).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from flybench.metrics.stats import ratio

Row = dict[str, Any]
ROUND = (
    *("step_s", "ar_overhead_ratio", "gamma", "cost_ratio", "verify_ratio", "overhead_ratio"),
    "speedup_modelled",
)
LIMIT = ("read_bandwidth", "bytes_per_token", "bandwidth_share", "regime")
# At this share of the bandwidth or more, memory reads take most of a step.
BANDWIDTH_BOUND = 0.5


def round_costs(plain: pd.DataFrame, rounds: pd.DataFrame, method: str) -> Row:
    """Return the costs of a method's round relative to AR's rounds `plain`, over paired samples.

    AR does not draft, so the time of its draft phase counts as overhead.
    """
    if not len(plain) or not len(rounds):
        return dict.fromkeys(ROUND)
    ours = rounds[rounds["sample_id"].isin(plain["sample_id"].unique())]
    theirs = plain[plain["sample_id"].isin(rounds["sample_id"].unique())]
    if not len(ours):
        return dict.fromkeys(ROUND)
    with np.errstate(divide="ignore", invalid="ignore"):  # undefined for a step of zero time
        step = theirs["verify_s"].mean()
        idle = (theirs["draft_s"] + theirs["other_s"]).mean() / step
        draft, verify, other = (
            ours[part].mean() / step for part in ("draft_s", "verify_s", "other_s")
        )
        gamma, tau = ours["drafted"].mean(), ours["emitted"].mean()
        modelled = tau * (1 + idle) / (draft + verify + other)
    parts: tuple[float | None, ...] = (draft / gamma if gamma else None, verify, other, modelled)
    if method == "ar":
        parts = (None, verify, idle, None)
    return dict(zip(ROUND, (step, idle, gamma, *parts), strict=True))


def bandwidth_limit(baseline: pd.DataFrame, provenance: Row) -> Row:
    """Return the share of the memory bandwidth that AR used, and the regime of its step."""
    costs = _costs(provenance)
    speed = ratio(baseline["tokens"], baseline["decode_s"])
    context = ratio(baseline["cached"], baseline["rounds"])
    if costs is None or speed is None or context is None:
        return dict.fromkeys(LIMIT)
    bandwidth = costs["read_bandwidth"]
    weights, cached = costs["target"]["weight_bytes"], costs["target"]["kv_bytes_per_token"]
    needed = None if weights is None or cached is None else weights + cached * context
    share = needed * speed / bandwidth if needed and bandwidth else None
    return dict(zip(LIMIT, (bandwidth, needed, share, _regime(share)), strict=True))


def bytes_ratio(provenance: Row) -> float | None:
    """Ratio of the weight bytes that the draft model and the target read per token."""
    costs = _costs(provenance)
    if costs is None or costs["draft"] is None:
        return None
    draft, target = (costs[name]["weight_bytes"] for name in ("draft", "target"))
    return draft / target if draft and target else None


def energy(samples: pd.DataFrame) -> Row:
    """Return joules per token and the count of throttled samples, where GPUs report them."""
    metered = samples[samples["energy_j"].notna()]
    watched = samples["throttled"].dropna()
    return {
        "energy_per_token_j": ratio(metered["energy_j"], metered["tokens"]),
        "throttled_samples": int(watched.sum()) if len(watched) else None,
    }


def _regime(share: float | None) -> str | None:
    if share is None:
        return None
    return "bandwidth-bound" if share >= BANDWIDTH_BOUND else "overhead-bound"


def _costs(provenance: Row) -> Row | None:
    """Costs recorded by the run's invocations, with the highest bandwidth among them.

    None if they ran on different devices, because records do not name the invocation of a sample.
    """
    calls = [call for call in provenance.get("invocations") or [] if call.get("costs")]
    devices = {(call.get("environment") or {}).get("device") for call in calls}
    if len(devices) != 1:
        return None
    latest: Row = calls[-1]["costs"]
    rates = [call["costs"]["read_bandwidth"] for call in calls]
    return latest | {"read_bandwidth": max((rate for rate in rates if rate), default=None)}
