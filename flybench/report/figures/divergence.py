"""How long a method's answers stay AR's own."""

from __future__ import annotations

import numpy as np

from flybench.metrics.divergence import partings
from flybench.metrics.stats import Floats
from flybench.report.figures.series import Looks, left_out, overlaid
from flybench.report.group import Group
from flybench.report.plot import Axes, Plot, Theme, legend_below, plot
from flybench.report.run import Arm, Run
from flybench.text import number, percent


def divergence(group: Group, looks: Looks) -> Plot | None:
    """Share of answers still equal to AR's, by token; None if nothing is paired."""
    pairs = [(run, arm) for run, arm in group.pairs if arm.row.n_paired]
    if not pairs:
        return None
    shown = overlaid(arm for _, arm in pairs)
    shares = {arm: still_equal(run, arm) for run, arm in pairs if arm in shown}

    def draw(axes: Axes, theme: Theme) -> None:
        for arm, share in shares.items():
            axes.step(range(len(share)), 100 * share, where="post", **looks[arm].stroke(theme))
        axes.set(xlabel="token of the answer", ylabel="equal to AR's so far (%)", ylim=(0, 104))
        legend_below(axes, columns=2)

    least = min(shown, key=lambda arm: arm.row.given("exact_match_rate"))
    finding = f"{percent(least.row.exact_match_rate)} of {least.name}'s answers equal AR's."
    listed = "; ".join(
        f"{arm.name} {percent(arm.row.exact_match_rate)}, parting at token "
        f"{number(arm.row.first_divergence_median, 0)} in the median"
        for arm in shown
    )
    return plot(
        f"divergence-{group.key}",
        f"{finding} Answers equal to AR's to the end on {group.title}: {listed}.",
        f"{finding} {group.title}: share of answers in which no token so far differs from AR's."
        f"{left_out([arm for _, arm in pairs], shown)}",
        draw,
        height=3.1 + 0.1 * len(shown),
    )


def still_equal(run: Run, arm: Arm) -> Floats:
    """The share of paired answers without a difference up to and with token 0, 1, …

    An answer that ended stays equal, so that the last share is that of equal answers.
    """
    places = partings(run.baseline, arm.samples)["place"]
    longest = int(run.pair(arm).table[["tokens", "tokens_ar"]].to_numpy().max())
    parted = np.bincount(places.dropna().astype(int), minlength=longest)
    return 1 - np.cumsum(parted) / len(places)
