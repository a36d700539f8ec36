"""Cost of a round by phase, and the bottleneck of AR, as a table and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flybench.config import BASELINE
from flybench.report.group import Group
from flybench.report.run import Arm
from flybench.report.tables.table import Column, Table, TableCell, cell
from flybench.text import number, percent

FIGURES = (
    *("step_s", "gamma", "cost_ratio", "verify_ratio", "overhead_ratio", "tau_pooled"),
    *("speedup_modelled", "speedup_throughput"),
)
# Relative difference of modelled and measured speed-up that needs no explanation.
TOLERANCE = 0.05


def rounds(group: Group) -> Table | None:
    """Return a table of round costs in target steps, one row per method."""
    arms = [arm for arm in group.arms if arm.row.step_s]
    columns = [Column("method", numeric=False), *(Column.of(name) for name in FIGURES)]
    rows = [
        [TableCell(group.names[arm]), *(cell(arm.row, name) for name in FIGURES)] for arm in arms
    ]
    caption = f"{group.title}: cost of a round in target steps (one step takes t1)"
    return Table(caption, columns, rows) if rows else None


def sentences(group: Group) -> list[str]:
    """Describe the costs of each method's round."""
    return [text for arm in group.compared for text in _round(arm)]


def _round(arm: Arm) -> Iterator[str]:
    row = arm.row
    modelled, measured = row.speedup_modelled, row.speedup_throughput
    if modelled is None or measured is None or "cost_ratio" in row.too_few:
        return
    gamma, cost = row.given("gamma"), row.given("cost_ratio")
    parts = {
        "drafting": gamma * cost,
        "verification": row.given("verify_ratio"),
        "overhead": row.given("overhead_ratio"),
    }
    total = sum(parts.values())
    most = max(parts, key=parts.__getitem__)
    drafting, verification, overhead = (number(steps) for steps in parts.values())
    share = percent(parts[most] / total)
    text = (
        f"A round of {arm.name} takes {number(total)} target steps: {drafting} for drafting "
        f"({number(gamma, 1)} tokens at {number(cost, 3)}), {verification} for verification and "
        f"{overhead} for overhead. {most.capitalize()} takes the largest share, {share}. "
        f"The modelled speed-up is {number(modelled)}×, the measured one {number(measured)}×"
    )
    explained = abs(modelled / measured - 1) <= TOLERANCE
    yield text + ("." if explained else "; the difference is time spent outside these phases.")


def regimes(group: Group) -> list[str]:
    """Describe the bottleneck of AR; one sentence per regime."""
    shares: dict[str, list[float]] = {}
    for arm in group.baselines:
        if arm.method == BASELINE and arm.row.regime:
            shares.setdefault(arm.row.regime, []).append(arm.row.given("bandwidth_share"))
    return [_regime(group, regime, sorted(found)) for regime, found in shares.items()]


def _regime(group: Group, regime: str, shares: Sequence[float]) -> str:
    share = " to ".join(dict.fromkeys(percent(end) for end in (shares[0], shares[-1])))
    if regime == "bandwidth-bound":
        return (
            f"AR on {group.title} reaches {share} of the memory bandwidth and is therefore "
            "bandwidth-bound: a draft token costs about the draft model's share of the bytes, and "
            "verifying a few tokens costs about one step, as on any bandwidth-bound engine."
        )
    return (
        f"AR on {group.title} reaches only {share} of the memory bandwidth and is therefore "
        "overhead-bound: kernel launches, the host or compute limit its speed. If launches "
        "dominate, verification appears almost free, and a draft token costs the draft model's "
        f"share of the layers instead of the bytes{_draft(group)}."
    )


def _draft(group: Group) -> str:
    """Measured cost of the draft models next to the cost expected from their bytes."""
    pairs = [
        (arm.row.cost_ratio, arm.row.bytes_ratio)
        for arm in group.compared
        if arm.row.cost_ratio is not None and arm.row.bytes_ratio is not None
    ]
    if not pairs:
        return ""
    cost, by_bytes = (
        " to ".join(dict.fromkeys(number(end, 3) for end in (min(values), max(values))))
        for values in zip(*pairs, strict=True)
    )
    return f" (c is {cost} here; expected from bytes: {by_bytes})"
