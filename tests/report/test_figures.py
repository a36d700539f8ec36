"""Figures: what they draw is right, in every form, and words say it."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from flybench.core.outcomes import Outcome
from flybench.report import figures
from flybench.report.figures.acceptance import accepted_at, added
from flybench.report.figures.divergence import still_equal
from flybench.report.figures.outcomes import mismatches
from flybench.report.figures.pareto import front
from flybench.report.figures.series import OVERLAID, overlaid
from flybench.report.figures.time import per_token
from flybench.report.group import Group, groups
from flybench.report.plot import DARK, LIGHT, Plot, plot
from flybench.report.run import load
from tests.helpers.synthetic import cell, write_run


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Group:
    path = tmp_path_factory.mktemp("figures")
    runs = [write_run(path / "a", 6, speed=2.5), write_run(path / "b", 6, method="spd", lose=[0])]
    return groups(load(runs))[0]


def svg(address: str) -> str:
    return base64.b64decode(address.partition(",")[2]).decode()


def test_dark_figures_have_dark_colours_alone() -> None:
    drawn = plot("n", "a", "c", lambda axes, theme: axes.plot([1], [2], color=theme["blue"]))
    light, dark = svg(drawn.light), svg(drawn.dark)
    assert LIGHT["blue"] in light and DARK["blue"] in dark
    assert not any(colour in dark for colour in set(LIGHT.values()) - set(DARK.values()))
    assert drawn.png.startswith(b"\x89PNG")


def test_colours_of_a_theme_are_told_apart() -> None:
    assert len(set(LIGHT.values())) == len(LIGHT) == len(set(DARK.values())) and set(LIGHT) == {
        *DARK
    }


def test_every_section_draws_and_begins_with_the_finding(group: Group) -> None:
    styles = figures.styles([group])
    drawn = {
        plot.name.split("-")[0]: plot
        for section in ("verdict", "time", "why", "differences")
        for plot in figures.drawn([group], styles, section)
    }
    assert {"pareto", "phases", "tau", "lengths", "positions", "outcomes", "divergence"} == {*drawn}
    assert drawn["pareto"].alt.startswith("fly answers fastest, ")
    assert "fly" in drawn["tau"].alt and "modelled" in drawn["tau"].alt


def test_methods_look_alike_on_every_task(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / f"{task}{method}", 2, method=method, task=task)
        for task, methods in {"one": ("a", "b"), "two": ("b",)}.items()
        for method in methods
    ]
    found = groups(load(runs))
    styles = figures.styles(found)
    assert styles[found[0].compared[1]] == styles[found[1].compared[0]]
    assert styles[found[0].compared[0]] != styles[found[0].compared[1]]


def test_front_keeps_what_no_other_beats() -> None:
    points = [(2.0, 99.0), (3.0, 90.0), (1.5, 95.0), (2.5, 90.0), (0.5, 101.0)]
    assert front(points) == [(0.5, 101.0), (1.0, 100.0), (2.0, 99.0), (3.0, 90.0)]
    assert front([(2.0, 100.0)]) == [(2.0, 100.0)]


def test_shares_of_rounds(group: Group) -> None:
    for arm in group.compared:
        emitted, accepted = arm.rounds["emitted"], arm.rounds["accepted"]
        assert sum(i * share for i, share in enumerate(added(arm), 1)) == pytest.approx(
            emitted.mean()
        )
        assert accepted_at(arm)[0] == pytest.approx((accepted >= 1).mean())
        assert sum(per_token(arm).values()) == pytest.approx(
            1000
            * arm.rounds[["draft_s", "verify_s", "other_s"]].sum(axis=1).mean()
            / emitted.mean()
        )


def test_mismatches_are_shares_of_what_was_judged(group: Group) -> None:
    fly, spd = (mismatches(arm) for arm in group.compared)
    assert fly[Outcome.LOOSE] > 0 and fly[Outcome.REJECTED] == 0
    assert spd[Outcome.LOOSE] == 0 and 0 < spd[Outcome.REJECTED] < 1


def test_divergence_ends_at_the_share_of_equal_answers(group: Group) -> None:
    [(run, arm), *_] = group.pairs
    shares = still_equal(run, arm)
    assert shares[-1] == pytest.approx(arm.row["exact_match_rate"])
    assert all(shares[1:] <= shares[:-1])


def test_many_methods_are_not_drawn_over_each_other(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / str(i), 2, method=f"m{i}", speed=1 + i) for i in range(OVERLAID + 2)
    ]
    [many] = groups(load(runs))
    shown = overlaid(many.compared)
    assert [arm.method for arm in shown] == [f"m{i}" for i in range(2, OVERLAID + 2)]


def grid(path: Path, *, scored: bool = True) -> list[Plot]:
    runs = [
        cell(path, f"{theta}-{window}", theta, window, n=8, scored=scored, speed=1 + theta)
        for theta in (0.1, 0.3, 0.5)
        for window in (4, 6)
        if (theta, window) != (0.5, 6)
    ]
    [group] = groups(load(runs))
    return figures.grids(group)


def test_runs_that_form_a_grid_are_a_heat_map(tmp_path: Path) -> None:
    [found] = grid(tmp_path / "a")
    assert found.alt.startswith("fly answers fastest at θ=0.5, W=4: ")
    assert "retention (%)" in found.alt
    [unscored] = grid(tmp_path / "b", scored=False)
    assert "loose tokens per 1000" in unscored.alt and "retention" not in unscored.alt


def test_one_setting_alone_is_no_grid(tmp_path: Path) -> None:
    [group] = groups(load([cell(tmp_path, "a", 0.1), cell(tmp_path, "b", 0.3)]))
    assert figures.grids(group) == []
