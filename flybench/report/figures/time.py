"""Figures of time: milliseconds per token by phase, and τ against speed-up."""

from __future__ import annotations

import numpy as np

from flybench.report.figures.series import Styles
from flybench.report.group import Group
from flybench.report.plot import Axes, Plot, Theme, legend_below, plot
from flybench.report.run import Arm
from flybench.text import number

PARTS = {"draft": "orange", "verify": "blue", "other": "grey"}


def phases(group: Group, styles: Styles) -> Plot | None:
    """Plot milliseconds per token by phase, one bar per method, AR first; None without rounds."""
    arms = [arm for arm in group.arms if len(arm.rounds) and arm.row.tau_pooled]
    if not arms:
        return None
    times = {arm: per_token(arm) for arm in arms}
    totals = {arm: sum(parts.values()) for arm, parts in times.items()}

    def draw(axes: Axes, theme: Theme) -> None:
        left = np.zeros(len(arms))
        for part, hue in PARTS.items():
            width = np.array([times[arm][part] for arm in arms])
            bars = axes.barh(range(len(arms)), width, left=left, color=theme[hue], label=part)
            left += width
        labels = [f"{totals[arm]:.2f}" for arm in arms]
        axes.bar_label(bars, labels, padding=4, color=theme["ink"], fontsize=8.5)
        axes.set_yticks(range(len(arms)), [styles[arm].label for arm in arms])
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set(xlabel="ms per emitted token")
        axes.grid(False, axis="y")
        legend_below(axes, columns=3)

    least = min(arms, key=lambda arm: totals[arm])
    listed = "; ".join(
        f"{arm.name} " + ", ".join(f"{part} {number(ms)}" for part, ms in times[arm].items() if ms)
        for arm in arms
    )
    finding = f"{least.name} takes the least time, {number(totals[least])} ms per token."
    return plot(
        f"phases-{group.key}",
        f"{finding} Milliseconds per token by phase on {group.title}: {listed}.",
        f"{finding} {group.title}: round time by phase, divided by τ. Draft: proposing tokens; "
        "verify: the target's forward pass and the acceptance rule.",
        draw,
        height=1.4 + 0.3 * len(arms),
    )


def per_token(arm: Arm) -> dict[str, float]:
    """Return the milliseconds of each phase per emitted token."""
    emitted = arm.rounds["emitted"].mean()
    return {part: (arm.row.ms_per_round[part] or 0) / emitted for part in PARTS}


def taus(group: Group, styles: Styles) -> Plot | None:
    """Plot τ against speed-up, with the modelled speed-up of each method as a line."""
    known = ("speedup_modelled", "speedup_throughput", "tau_pooled")
    arms = [arm for arm in group.compared if all(arm.row[name] for name in known)]
    if not arms:
        return None
    far = 1.15 * max(map(_tau, arms))

    def draw(axes: Axes, theme: Theme) -> None:
        axes.axhline(1, color=theme["soft"], linewidth=1)
        for arm in arms:
            tau, modelled = _tau(arm), arm.row.given("speedup_modelled")
            color = theme[styles[arm].hue]
            axes.plot((0, far), (0, far * modelled / tau), ":", color=color, linewidth=1)
            low, high = arm.row.speedup_throughput_ci or (_measured(arm),) * 2
            axes.plot((tau, tau), (low, high), color=color, linewidth=1.2)
            axes.plot(tau, _measured(arm), linestyle="none", **styles[arm].mark(theme))
        ceiling = 1.25 * max(_measured(arm) for arm in arms)
        axes.set(xlabel="τ (tokens per round)", ylabel="speed-up in throughput (×)")
        axes.set(xlim=(0, far), ylim=(0, ceiling))
        legend_below(axes, columns=2)

    listed = "; ".join(
        f"{arm.name} τ {number(arm.row.tau_pooled)}, measured {number(_measured(arm))}×, "
        f"modelled {number(arm.row.speedup_modelled)}×"
        for arm in arms
    )
    cheapest = max(arms, key=lambda arm: arm.row.given("speedup_modelled") / _tau(arm))
    finding = f"{cheapest.name} has the cheapest rounds."
    return plot(
        f"tau-{group.key}",
        f"{finding} τ and speed-up on {group.title}: {listed}.",
        f"{finding} {group.title}: the dotted line through each mark is the modelled speed-up, "
        "τ divided by the cost of a round in target steps. A steeper line means cheaper rounds.",
        draw,
        height=3.2 + 0.1 * len(arms),
    )


def _measured(arm: Arm) -> float:
    return arm.row.given("speedup_throughput")


def _tau(arm: Arm) -> float:
    return arm.row.given("tau_pooled")
