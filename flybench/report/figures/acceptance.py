"""Figures of acceptance: tokens added per round, and acceptance by position in the draft."""

from __future__ import annotations

import numpy as np

from flybench.metrics.stats import Floats
from flybench.report.figures.series import Styles, left_out, overlaid
from flybench.report.group import Group, with_rounds
from flybench.report.plot import Axes, Plot, Theme, legend_below, plot
from flybench.report.run import Arm
from flybench.text import number


def lengths(group: Group, styles: Styles) -> Plot | None:
    """Plot the distribution of tokens added per round; None without drafts."""
    arms = list(with_rounds(group))
    if not arms:
        return None
    shown = overlaid(arms)
    shares = {arm: added(arm) for arm in shown}

    def draw(axes: Axes, theme: Theme) -> None:
        for arm, share in shares.items():
            added_tokens = range(1, len(share) + 1)
            style = styles[arm]
            axes.plot(added_tokens, 100 * share, marker=style.marker, ms=3.5, **style.stroke(theme))
        axes.set(xlabel="tokens added per round", ylabel="rounds (%)", ylim=(0, None))
        axes.locator_params(axis="x", integer=True)
        legend_below(axes, columns=2)

    most = max(shown, key=lambda arm: arm.row.tau_pooled or 0)
    finding = f"{most.name} emits the most tokens per round, τ = {number(most.row.tau_pooled)}."
    listed = "; ".join(f"{arm.name} {_quartiles(arm)}" for arm in shown)
    return plot(
        f"lengths-{group.key}",
        f"{finding} Tokens added per round on {group.title}, quartiles: {listed}.",
        f"{finding} {group.title}: tokens added per round, including the target's token; τ is the "
        f"mean.{left_out(arms, shown)}",
        draw,
        height=3.1 + 0.1 * len(shown),
    )


def positions(group: Group, styles: Styles) -> Plot | None:
    """Plot the share of rounds accepted up to each draft position; None without drafts."""
    arms = list(with_rounds(group))
    if not arms:
        return None
    shown = overlaid(arms)
    shares = {arm: accepted_at(arm) for arm in shown}

    def draw(axes: Axes, theme: Theme) -> None:
        for arm, share in shares.items():
            indices = range(1, len(share) + 1)
            axes.plot(indices, 100 * share, linewidth=1.6, **styles[arm].stroke(theme))
        axes.set(xlabel="position in the draft", ylabel="accepted up to position (%)")
        axes.set(ylim=(0, 104))
        axes.locator_params(axis="x", integer=True)
        legend_below(axes, columns=2)

    ends = "; ".join(
        f"{arm.name} {number(share[0], 0, 100)} % at position 1 and {number(share[-1], 0, 100)} % "
        f"up to position {len(share)}"
        for arm, share in shares.items()
    )
    return plot(
        f"positions-{group.key}",
        f"Acceptance by position in the draft on {group.title}: {ends}.",
        f"{group.title}: share of rounds whose draft was accepted up to each position, among the "
        f"rounds that drafted that far.{left_out(arms, shown)}",
        draw,
        height=3.1 + 0.1 * len(shown),
    )


def added(arm: Arm) -> Floats:
    """Return the share of rounds that add 1, 2, … tokens."""
    counts = np.bincount(arm.rounds["emitted"])[1:]
    return counts / counts.sum()


def accepted_at(arm: Arm) -> Floats:
    """Return the share of rounds that accept the first 1, 2, … tokens, among those drafting them.

    The result ends one past the longest accepted path, which for trees is far below the draft size.
    """
    drafted, accepted = (arm.rounds[name].to_numpy() for name in ("drafted", "accepted"))
    last = min(drafted.max(), accepted.max() + 1)
    return np.array([float((accepted[drafted >= i] >= i).mean()) for i in range(1, last + 1)])


def _quartiles(arm: Arm) -> str:
    ends = np.percentile(arm.rounds["emitted"], (25, 50, 75))
    return " / ".join(number(end, 0) for end in ends)
