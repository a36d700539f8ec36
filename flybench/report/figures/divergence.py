"""Figure of divergence: share of answers still equal to AR's, by token."""

from __future__ import annotations

import numpy as np

from flybench.metrics.divergence import first_divergences
from flybench.metrics.stats import Floats
from flybench.report.figures.series import Styles, left_out, overlaid
from flybench.report.group import Group
from flybench.report.plot import Axes, Plot, Theme, legend_below, plot
from flybench.report.run import Arm, Run
from flybench.text import number, percent


def divergence(group: Group, styles: Styles) -> Plot | None:
    """Plot the share of answers still equal to AR's, by token; None without pairs."""
    pairs = [(run, arm) for run, arm in group.pairs if arm.row.n_paired]
    if not pairs:
        return None
    shown = overlaid(arm for _, arm in pairs)
    shares = {arm: still_equal(run, arm) for run, arm in pairs if arm in shown}

    def draw(axes: Axes, theme: Theme) -> None:
        for arm, share in shares.items():
            axes.step(range(len(share)), 100 * share, where="post", **styles[arm].stroke(theme))
        axes.set(xlabel="token of the answer", ylabel="equal to AR's so far (%)", ylim=(0, 104))
        legend_below(axes, columns=2)

    least = min(shown, key=lambda arm: arm.row.given("exact_match_rate"))
    finding = f"{percent(least.row.exact_match_rate)} of {least.name}'s answers equal AR's."
    listed = "; ".join(
        f"{arm.name} {percent(arm.row.exact_match_rate)}, median first divergence at token "
        f"{number(arm.row.first_divergence_median, 0)}"
        for arm in shown
    )
    return plot(
        f"divergence-{group.key}",
        f"{finding} Share of answers equal to AR's on {group.title}: {listed}.",
        f"{finding} {group.title}: share of answers still identical to AR's at each token."
        f"{left_out([arm for _, arm in pairs], shown)}",
        draw,
        height=3.1 + 0.1 * len(shown),
    )


def still_equal(run: Run, arm: Arm) -> Floats:
    """Return the share of paired answers without a difference up to and including token 0, 1, …

    An answer that ended stays equal; the last value is the share of equal answers.
    """
    indices = first_divergences(run.baseline, arm.samples)["diverged_at"]
    longest = int(run.pair(arm).table[["tokens", "tokens_ar"]].to_numpy().max())
    diverged = np.bincount(indices.dropna().astype(int), minlength=longest)
    return 1 - np.cumsum(diverged) / len(indices)
