"""What became of mismatches: rejected and why, or kept loosely, and how unsure the target was."""

from __future__ import annotations

import numpy as np

from flybench.core.outcomes import Outcome
from flybench.metrics.stats import Floats
from flybench.report.figures.series import Looks, left_out, overlaid
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


def outcomes(group: Group, looks: Looks) -> Plot | None:
    """Mismatches by their fate, one bar a method, beside how many there are."""
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
        words = [number(totals[arm], 0, 1000) for arm in arms]
        axes.bar_label(bars, words, padding=4, color=theme["ink"], fontsize=8.5)
        axes.set_yticks(range(len(arms)), [looks[arm].label for arm in arms])
        axes.invert_yaxis()
        axes.set(xlabel="mismatches (%); at the end: per 1000 judged tokens", xlim=(0, 112))
        axes.grid(False, axis="y")
        legend_below(axes, columns=len(seen))

    listed = "; ".join(
        f"{arm.name} {number(totals[arm], 0, 1000)} per 1000 judged: "
        + ", ".join(f"{f.name.lower()} {percent(rates[arm][f] / totals[arm])}" for f in seen)
        for arm in arms
    )
    loosest = max(arms, key=lambda arm: rates[arm][Outcome.LOOSE] / totals[arm])
    kept = rates[loosest][Outcome.LOOSE] / totals[loosest]
    finding = f"{loosest.name} keeps {percent(kept)} of its mismatches."
    finding = finding if kept else "No method keeps a mismatch."
    return plot(
        f"fates-{group.key}",
        f"{finding} Mismatches by fate on {group.title}: {listed}.",
        f"{finding} {group.title}: drafted tokens that differ from the target's choice. Loose ones "
        "were kept; gate, window and tail say why FLy rejected the others.",
        draw,
        height=1.5 + 0.3 * len(arms),
    )


def mismatches(arm: Arm) -> dict[Outcome, float]:
    """Mismatches by fate, as shares of the judged tokens."""
    letters = "".join(arm.rounds["outcomes"])
    judged = len(letters) - letters.count(Outcome.NOT_REACHED.code)
    return {outcome: letters.count(outcome.code) / judged if judged else 0.0 for outcome in HUES}


def entropies(group: Group, looks: Looks) -> Plot | None:
    """Loose tokens by the target's entropy at their place; None where no rule was loose."""
    found = {arm: values for arm in with_rounds(group) if len(values := loose_entropies(arm))}
    if not found:
        return None
    shown = overlaid(found)
    top = max(values.max() for values in found.values())
    edges = np.arange(0, top + 2 * BIN, BIN)

    def draw(axes: Axes, theme: Theme) -> None:
        for arm in shown:
            counts, _ = np.histogram(found[arm], edges)
            rates = 1000 * counts / arm.samples["tokens"].sum()
            axes.step(edges[:-1], rates, where="post", **looks[arm].stroke(theme))
        axes.set(xlabel="entropy of the target (nats)", ylabel="loose per 1000 tokens")
        legend_below(axes, columns=2)

    listed = "; ".join(
        f"{arm.name} {number(float(np.median(found[arm])))} nats over {len(found[arm]):,} tokens"
        for arm in shown
    )
    return plot(
        f"entropies-{group.key}",
        f"Median entropy of the target where it was overruled, on {group.title}: {listed}.",
        f"{group.title}: loose tokens by how unsure the target was, in steps of {BIN:g} nats. "
        f"Near 0 it was sure of another token.{left_out(list(found), shown)}",
        draw,
        height=3.1 + 0.1 * len(shown),
    )


def loose_entropies(arm: Arm) -> Floats:
    """The target's entropy at every loose token of an arm, in nats."""
    loose = (each.token for tokens in arm.samples["loose_tokens"] for each in tokens)
    return np.array([token.statistics.entropy for token in loose])
