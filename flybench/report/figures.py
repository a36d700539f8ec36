"""Figures of drafts and rounds: each in words for its alternative text, and drawn on axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flybench.core import ACCEPTED_FATES
from flybench.report.glossary import FATES
from flybench.report.plot import Axes, Plot, Theme, legend_below, plot
from flybench.report.run import Arm
from flybench.report.text import one_line, percent


def lengths(arm: Arm, name: str) -> Plot:
    """Histogram of the tokens emitted per round."""
    counts = np.bincount(arm.rounds["emitted"])
    shares = 100 * counts / counts.sum()
    tau = arm.row["tau_pooled"]

    def draw(axes: Axes, theme: Theme) -> None:
        axes.bar(range(len(shares)), shares, color=theme["blue"], width=0.82)
        if tau is not None:
            axes.axvline(tau, color=theme["orange"], linewidth=1.6)
            axes.annotate(
                f"τ = {tau:.2f}",
                (tau, 1),
                (4, -3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                va="top",
                color=theme["ink"],
            )
        axes.margins(y=0.12)
        axes.set(xlabel="emitted tokens per round", ylabel="rounds (%)", xlim=(0.4, None))
        axes.locator_params(axis="x", integer=True)

    listed = ", ".join(f"{i}: {share:.1f} %" for i, share in enumerate(shares) if share)
    return plot(
        name,
        f"Emitted tokens per round of {arm.label}. {listed}",
        f"{arm.label}: tokens emitted per round, over {counts.sum():,} rounds.",
        draw,
    )


def positions(arm: Arm, name: str) -> Plot:
    """Share of drafted tokens accepted, by position in the draft."""
    drafted, accepted = arm.rounds["drafted"].to_numpy(), arm.rounds["accepted"].to_numpy()
    places = np.arange(1, drafted.max() + 1)
    reached = [drafted >= i for i in places]
    joint = [100 * float((accepted[r] >= i).mean()) for r, i in zip(reached, places, strict=True)]
    before = [r & (accepted >= i - 1) for r, i in zip(reached, places, strict=True)]
    given = [
        100 * float((accepted[b] >= i).mean()) if b.any() else float("nan")
        for b, i in zip(before, places, strict=True)
    ]

    def draw(axes: Axes, theme: Theme) -> None:
        for shares, line, hue, label in (
            (given, "s--", "orange", "if the one before was"),
            (joint, "o-", "blue", "accepted up to here"),
        ):
            axes.plot(places, shares, line, color=theme[hue], label=label, markersize=4)
        axes.set(xlabel="position in the draft", ylabel="rounds (%)", ylim=(0, 104))
        axes.locator_params(axis="x", integer=True)
        axes.legend(loc="best")

    listed = ", ".join(f"{i}: {share:.0f} %" for i, share in zip(places, joint, strict=True))
    return plot(
        name,
        f"Acceptance by draft position of {arm.label}. {listed}",
        f"{arm.label}: rounds whose draft was accepted up to a position, of those that drafted "
        "that far.",
        draw,
    )


def fates(arm: Arm, name: str) -> Plot:
    """What became of the drafted tokens."""
    letters = "".join(arm.rounds["fates"])
    counts = {fate: letters.count(fate.code) for fate in FATES}
    *judged, unvisited = counts
    shown = [fate for fate in judged if counts[fate]]
    total = sum(counts[fate] for fate in judged)
    words = {fate: _share(counts[fate], total, "judged") for fate in shown}
    words[unvisited] = _share(counts[unvisited], len(letters), "drafted")
    shown = [*shown, unvisited]

    def draw(axes: Axes, theme: Theme) -> None:
        # Unvisited tokens were never judged, so they stand apart.
        heights = [*range(len(shown) - 1), len(shown) - 0.6]
        hues = ["blue" if f in ACCEPTED_FATES else "red" for f in shown[:-1]] + ["grey"]
        bars = axes.barh(
            heights, [counts[f] for f in shown], color=[theme[hue] for hue in hues], height=0.66
        )
        bars[-1].set(facecolor="none", edgecolor=theme["grey"], hatch="////")
        axes.set_yticks(heights, [f.name.lower() for f in shown])
        axes.invert_yaxis()
        axes.bar_label(bars, [words[f] for f in shown], padding=4, color=theme["ink"])
        axes.set(xlabel="drafted tokens", xlim=(0, 1.5 * max(1, *counts.values())))
        axes.grid(False, axis="y")
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.set_major_formatter("{x:,.0f}")

    listed = ", ".join(f"{fate.name.lower()} {words[fate]}" for fate in shown)
    return plot(
        name,
        f"Fates of the tokens drafted by {arm.label}: {listed}",
        f"{arm.label}: fates of {len(letters):,} drafted tokens, before truncation. Blue was "
        "accepted, red rejected; hatched was never judged.",
        draw,
        height=1.3 + 0.36 * len(shown),
    )


def phases(arms: Sequence[Arm]) -> Plot:
    """Milliseconds a round by phase, one bar a run and method."""
    parts = {"draft": "orange", "verify": "blue", "other": "grey"}
    times = [arm.row["ms_per_round"] for arm in arms]
    words = [
        _round_words(sum(ms.values()), arm.row["tau_pooled"])
        for arm, ms in zip(arms, times, strict=True)
    ]

    def draw(axes: Axes, theme: Theme) -> None:
        left = np.zeros(len(arms))
        for part, hue in parts.items():
            width = np.array([ms[part] for ms in times])
            axes.barh(range(len(arms)), width, left=left, color=theme[hue], label=part, height=0.4)
            left += width
        for place, arm in enumerate(arms):
            # Above the bar, where a long name has the whole width.
            name = f"{one_line(arm.label, 34)}: {words[place]}"
            axes.text(0, place - 0.27, name, color=theme["ink"], va="bottom", fontsize=8.5)
        axes.set(xlabel="ms per round", ylim=(len(arms) - 0.6, -0.85), yticks=[])
        axes.grid(False)
        axes.spines["left"].set_visible(False)
        legend_below(axes, columns=3)

    listed = "; ".join(f"{arm.label}: {text}" for arm, text in zip(arms, words, strict=True))
    return plot(
        "phases",
        f"Time per round by phase. {listed}",
        "Time of a round by phase: draft proposes, verify scores and judges, other is the rest.",
        draw,
        height=1.3 + 0.55 * len(arms),
    )


def _round_words(ms: float, tau: float | None) -> str:
    a_token = "" if tau is None else f", {ms / tau:.1f} a token"
    return f"{ms:.1f} ms a round{a_token}"


def _share(count: int, total: int, of: str) -> str:
    return f"{count:,} ({percent(count / total if total else None)} of {of})"
