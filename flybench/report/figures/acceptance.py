"""Why a method is fast or not: how many tokens its rounds add, and where its drafts go wrong."""

from __future__ import annotations

import numpy as np

from flybench.metrics.stats import Floats
from flybench.report.figures.series import Looks, left_out, overlaid
from flybench.report.group import Group, with_rounds
from flybench.report.plot import Axes, Plot, Theme, legend_below, plot
from flybench.report.run import Arm
from flybench.text import number


def lengths(group: Group, looks: Looks) -> Plot | None:
    """How many tokens a round adds, as shares of rounds."""
    arms = list(with_rounds(group))
    if not arms:
        return None
    shown = overlaid(arms)
    shares = {arm: added(arm) for arm in shown}

    def draw(axes: Axes, theme: Theme) -> None:
        for arm, share in shares.items():
            places = range(1, len(share) + 1)
            look = looks[arm]
            axes.plot(places, 100 * share, marker=look.marker, ms=3.5, **look.stroke(theme))
        axes.set(xlabel="tokens that a round adds", ylabel="rounds (%)", ylim=(0, None))
        axes.locator_params(axis="x", integer=True)
        legend_below(axes, columns=2)

    most = max(shown, key=lambda arm: arm.row.tau_pooled or 0)
    finding = f"{most.name} adds the most a round, τ = {number(most.row.tau_pooled)}."
    listed = "; ".join(f"{arm.name} {_quartiles(arm)}" for arm in shown)
    return plot(
        f"lengths-{group.key}",
        f"{finding} Tokens a round adds on {group.title}, by quarters of the rounds: {listed}.",
        f"{finding} {group.title}: how many tokens a round adds, the target's own included; τ is "
        f"the mean.{left_out(arms, shown)}",
        draw,
        height=3.1 + 0.1 * len(shown),
    )


def positions(group: Group, looks: Looks) -> Plot | None:
    """Share of drafted tokens accepted, by position in the draft."""
    arms = list(with_rounds(group))
    if not arms:
        return None
    shown = overlaid(arms)
    shares = {arm: accepted_at(arm) for arm in shown}

    def draw(axes: Axes, theme: Theme) -> None:
        for arm, share in shares.items():
            places = range(1, len(share) + 1)
            axes.plot(places, 100 * share, linewidth=1.6, **looks[arm].stroke(theme))
        axes.set(xlabel="position in the draft", ylabel="accepted up to here (%)", ylim=(0, 104))
        axes.locator_params(axis="x", integer=True)
        legend_below(axes, columns=2)

    ends = "; ".join(
        f"{arm.name} {number(share[0], 0, 100)} % of the first and {number(share[-1], 0, 100)} % "
        f"up to number {len(share)}"
        for arm, share in shares.items()
    )
    return plot(
        f"positions-{group.key}",
        f"Acceptance by position in the draft on {group.title}: {ends}.",
        f"{group.title}: rounds whose draft was accepted up to a position, of those that drafted "
        f"that far.{left_out(arms, shown)}",
        draw,
        height=3.1 + 0.1 * len(shown),
    )


def added(arm: Arm) -> Floats:
    """The share of rounds that add 1, 2, … tokens."""
    counts = np.bincount(arm.rounds["emitted"])[1:]
    return counts / counts.sum()


def accepted_at(arm: Arm) -> Floats:
    """The share of rounds that accept the first 1, 2, … drafted tokens, of those that draft them.

    Beyond the longest accepted path, which in a tree of drafts is far below its size, all is 0.
    """
    drafted, accepted = (arm.rounds[name].to_numpy() for name in ("drafted", "accepted"))
    last = min(drafted.max(), accepted.max() + 1)
    return np.array([float((accepted[drafted >= i] >= i).mean()) for i in range(1, last + 1)])


def _quartiles(arm: Arm) -> str:
    ends = np.percentile(arm.rounds["emitted"], (25, 50, 75))
    return " / ".join(number(end, 0) for end in ends)
