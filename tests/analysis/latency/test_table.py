"""A measurement shown: every figure in its unit, gaps as dashes, and a plot."""

from __future__ import annotations

import pandas as pd
import pytest

from flybench.analysis.latency.table import COLUMNS, brief, figure, frame, scaled
from flybench.analysis.latency.terminal import text
from tests.helpers.measurements import result, spread


def test_a_row_a_point_in_milliseconds() -> None:
    table = frame(result())
    assert tuple(table.columns) == COLUMNS
    base, two, *_, long, draft = table.to_dict("records")
    assert (base["step_ms"], base["p10_ms"], base["p90_ms"]) == (1000, 500, 2000)
    assert (two["step_ms"], two["steps"], two["over_floor"]) == pytest.approx((1100, 1.1, 2.2))
    assert (base["bytes_floor_ms"], base["operations_floor_ms"]) == (500, 250)
    assert pd.isna(long["step_ms"]) and pd.isna(long["over_floor"])
    assert long["note"] == "does not fit in memory"
    assert draft["steps"] == 1, "each model is compared with its own base point"


def test_what_a_terminal_shows() -> None:
    shown = text(result())
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[0] == "tiny on a CPU, engine eager, own weights"
    assert (
        "target: tiny-target, float32; 2.00 M parameters, 8.00 MB of weights to read, 64.0 B "
        in (shown)
    )
    assert "tiny-draft without its layers 1, 2" in shown
    assert "cpu: reads 16.0 MB/s, multiplies at — FLOP/s" in shown
    assert "width 16 256 1 2,500 1,250–5,000 2.50 500 250 bytes 5.00" in lines
    assert "context 1 8191 1 — — — 500 250 bytes — does not fit in memory" in lines
    assert "fly 1,000 (500–2,000) 1,500 (750–3,000) 50.0 (25.0–100)" in lines
    assert "takes 1,000 (500–2,000) ms, 1.25 of 4 steps" in shown
    assert "fly 20.0 (10.0–40.0) ms, 2.0\u00a0% of a step; exact 10.0 (5.00–20.0) ms" in shown
    assert "the process, so far, took 32.0 MB" in shown


def test_a_measurement_of_a_target_alone() -> None:
    whole = result()
    alone = result(
        models={"target": whole["models"]["target"]},
        points=whole["points"][:-1],
        draft=None,
        verdicts=None,
        rounds={"ar": whole["rounds"]["ar"]},
    )
    shown = text(alone)
    assert "draft of" not in shown
    assert "verdict" not in shown
    assert figure(frame(alone), "alone").startswith(b"\x89PNG")


def test_a_step_that_changed_meanwhile_is_told() -> None:
    rounds = result()["rounds"]
    assert "measure again" not in text(result())
    for seconds in (0.7, 1.3):
        slower = rounds | {"ar": rounds["ar"] | {"verify": spread(seconds)}}
        assert "1,000 ms at the base point" in text(result(rounds=slower))


def test_nothing_measured_at_all_is_still_shown() -> None:
    whole = result()
    empty = [
        row | dict.fromkeys(("median_s", "p10_s", "p90_s", "binds")) for row in whole["points"]
    ]
    shown = text(whole | {"points": empty})
    assert "— of 4 steps" in shown
    assert figure(frame(whole | {"points": empty}), "empty").startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1234.5, "1,234"),
        (57.14, "57.1"),
        (1, "1.00"),
        (0.257, "0.257"),
        (2e-5, "0.000"),
        (0, "0.000"),
    ]
    + [(None, "—"), (float("nan"), "—")],
)
def test_three_figures(value: float | None, shown: str) -> None:
    assert brief(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (15.7e9, "15.7 GB/s"),
        (999, "999 B/s"),
        (1000, "1.00 kB/s"),
        (4e17, "400 PB/s"),
        (0, "0.000 B/s"),
    ]
    + [(None, "— B/s")],
)
def test_decimal_prefixes(value: float | None, shown: str) -> None:
    assert scaled(value, "B/s") == shown
