"""Where the time of a round goes, and what bounds plain decoding: one table, and sentences."""

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
# Modelled and measured speed-up may differ by this share before a reader is told.
EXPLAINED = 0.05


def rounds(group: Group) -> Table | None:
    """The parts of a round in steps of the target, one row a method."""
    arms = [arm for arm in group.arms if arm.row.step_s]
    columns = [Column("method", numeric=False), *(Column.of(name) for name in FIGURES)]
    rows = [
        [TableCell(group.names[arm]), *(cell(arm.row, name) for name in FIGURES)] for arm in arms
    ]
    caption = f"{group.title}: a round in steps of the target (one pass over one token, t1)"
    return Table(caption, columns, rows) if rows else None


def sentences(group: Group) -> list[str]:
    """What dominates each method's round."""
    return [text for arm in group.compared for text in _round(arm)]


def _round(arm: Arm) -> Iterator[str]:
    row = arm.row
    modelled, measured = row.speedup_modelled, row.speedup_throughput
    if modelled is None or measured is None or "cost_ratio" in row.too_few:
        return
    gamma, cost = row.given("gamma"), row.given("cost_ratio")
    parts = {
        "drafting": gamma * cost,
        "verifying": row.given("verify_ratio"),
        "the rest": row.given("overhead_ratio"),
    }
    whole = sum(parts.values())
    most = max(parts, key=parts.__getitem__)
    drafting, verifying, rest = (number(steps) for steps in parts.values())
    share = percent(parts[most] / whole)
    text = (
        f"A round of {arm.name} takes {number(whole)} steps of the target: {drafting} for "
        f"drafting ({number(gamma, 1)} tokens at {number(cost, 3)}), {verifying} for verifying, "
        f"{rest} for the rest. {most.capitalize()} takes the largest part, {share}. "
        f"These parts make a speed-up of {number(modelled)}×, and {number(measured)}× was measured"
    )
    explained = abs(modelled / measured - 1) <= EXPLAINED
    yield text + ("." if explained else "; the difference is time outside of these parts.")


def regimes(group: Group) -> list[str]:
    """What bounds plain decoding, and so what the speed-ups mean; one sentence for each regime."""
    shares: dict[str, list[float]] = {}
    for arm in group.baselines:
        if arm.method == BASELINE and arm.row.regime:
            shares.setdefault(arm.row.regime, []).append(arm.row.given("bandwidth_share"))
    return [_regime(group, regime, sorted(found)) for regime, found in shares.items()]


def _regime(group: Group, regime: str, shares: Sequence[float]) -> str:
    share = " to ".join(dict.fromkeys(percent(end) for end in (shares[0], shares[-1])))
    if regime == "bandwidth-bound":
        return (
            f"AR on {group.title} reaches {share} of the bandwidth of its memory, so it is "
            "bandwidth-bound: a draft model costs about its share of the bytes, and verifying "
            "a few tokens costs about one step, as on any engine that is so bound."
        )
    return (
        f"AR on {group.title} reaches only {share} of the bandwidth of its memory, so it is "
        "overhead-bound: kernel launches, the host or arithmetic set its pace. Where it "
        "is launches, the speed-up flatters verifying, which looks free, and punishes "
        "draft models, which cost their share of the layers and not of the bytes"
        f"{_draft(group)}."
    )


def _draft(group: Group) -> str:
    """The draft models' cost beside what their bytes alone would cost."""
    pairs = [
        (arm.row.cost_ratio, arm.row.bytes_ratio)
        for arm in group.compared
        if arm.row.cost_ratio is not None and arm.row.bytes_ratio is not None
    ]
    if not pairs:
        return ""
    cost, by_bytes = (
        " to ".join(dict.fromkeys(number(end, 3) for end in (min(known), max(known))))
        for known in zip(*pairs, strict=True)
    )
    return f" (c is {cost} here, by bytes it would be {by_bytes})"
