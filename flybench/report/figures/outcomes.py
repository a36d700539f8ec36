"""Figures of mismatches by outcome, and of loose tokens by the target's entropy."""

from __future__ import annotations

import numpy as np

from flybench.core.outcomes import Outcome
from flybench.metrics.stats import Floats
from flybench.report.figures.series import Styles, left_out, overlaid
from flybench.report.group import Group, with_rounds
from flybench.report.plot import Axes, Plot, Theme, legend_below, plot
from flybench.report.run import Arm
from flybench.text import number, percent

HUES = {
    Outcome.LOOSE: "orange",
    Outcome.GATE: "red",
    Outcome.WINDOW: "purple",
    Outcome.TAIL: "blue",
    Outcome.REJECTED: "grey",
}
BIN = 0.25  # nats


def outcomes(group: Group, styles: Styles) -> Plot | None:
    """Plot mismatches by outcome, one bar per method with their total; None without mismatches."""
    rates = {arm: mismatches(arm) for arm in with_rounds(group)}
    arms = [arm for arm, rate in rates.items() if sum(rate.values())]
    seen = [outcome for outcome in HUES if any(rates[arm][outcome] for arm in arms)]
    if not arms:
        return None
    totals = {arm: sum(rates[arm].values()) for arm in arms}

    def draw(axes: Axes, theme: Theme) -> None:
        left = np.zeros(len(arms))
        for outcome in seen:
            width = np.array([100 * rates[arm][outcome] / totals[arm] for arm in arms])
            hue, name = theme[HUES[outcome]], outcome.name.lower()
            bars = axes.barh(range(len(arms)), width, left=left, color=hue, label=name)
            left += width
        labels = [number(totals[arm], 0, 1000) for arm in arms]
        axes.bar_label(bars, labels, padding=4, color=theme["ink"], fontsize=8.5)
        axes.set_yticks(range(len(arms)), [styles[arm].label for arm in arms])
        axes.invert_yaxis()
        axes.set(xlabel="mismatches (%); right: per 1000 verified tokens", xlim=(0, 112))
        axes.grid(False, axis="y")
        legend_below(axes, columns=len(seen))

    listed = "; ".join(
        f"{arm.name} {number(totals[arm], 0, 1000)} per 1000 verified: "
        + ", ".join(f"{f.name.lower()} {percent(rates[arm][f] / totals[arm])}" for f in seen)
        for arm in arms
    )
    loosest = max(arms, key=lambda arm: rates[arm][Outcome.LOOSE] / totals[arm])
    kept = rates[loosest][Outcome.LOOSE] / totals[loosest]
    finding = f"{loosest.name} accepts {percent(kept)} of its mismatches."
    finding = finding if kept else "No method accepts any mismatch."
    return plot(
        f"outcomes-{group.key}",
        f"{finding} Mismatches by outcome on {group.title}: {listed}.",
        f"{finding} {group.title}: draft tokens that differ from the target's argmax. Loose ones "
        "were accepted; gate, window and tail are FLy's reasons for rejecting the others.",
        draw,
        height=1.5 + 0.3 * len(arms),
    )


def mismatches(arm: Arm) -> dict[Outcome, float]:
    """Return mismatches by outcome, as shares of the verified tokens."""
    letters = "".join(arm.rounds["outcomes"])
    verified = len(letters) - letters.count(Outcome.NOT_REACHED.code)
    return {
        outcome: letters.count(outcome.code) / verified if verified else 0.0 for outcome in HUES
    }


def entropies(group: Group, styles: Styles) -> Plot | None:
    """Plot loose tokens by the target's entropy at their position; None without loose tokens."""
    by_arm = {arm: values for arm in with_rounds(group) if len(values := loose_entropies(arm))}
    if not by_arm:
        return None
    shown = overlaid(by_arm)
    top = max(values.max() for values in by_arm.values())
    edges = np.arange(0, top + 2 * BIN, BIN)

    def draw(axes: Axes, theme: Theme) -> None:
        for arm in shown:
            counts, _ = np.histogram(by_arm[arm], edges)
            rates = 1000 * counts / arm.samples["tokens"].sum()
            axes.step(edges[:-1], rates, where="post", **styles[arm].stroke(theme))
        axes.set(xlabel="entropy of the target (nats)", ylabel="loose per 1000 tokens")
        legend_below(axes, columns=2)

    listed = "; ".join(
        f"{arm.name} {number(float(np.median(by_arm[arm])))} nats over {len(by_arm[arm]):,} tokens"
        for arm in shown
    )
    return plot(
        f"entropies-{group.key}",
        f"Median entropy of the target at loose tokens on {group.title}: {listed}.",
        f"{group.title}: loose tokens by the target's entropy, in bins of {BIN:g} nats. "
        f"Near 0, the target was certain of another token.{left_out(list(by_arm), shown)}",
        draw,
        height=3.1 + 0.1 * len(shown),
    )


def loose_entropies(arm: Arm) -> Floats:
    """Return the target's entropy at every loose token of an arm, in nats."""
    loose = (each.token for tokens in arm.samples["loose_tokens"] for each in tokens)
    return np.array([token.statistics.entropy for token in loose])
