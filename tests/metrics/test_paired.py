"""One estimate for every verb: sides of a bar, texts, and pairs joined once."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from flybench.config.checks import MAX_COUNT
from flybench.metrics.glossary import GLOSSARY
from flybench.metrics.method_summary import MethodSummary
from flybench.metrics.paired import Estimate
from flybench.metrics.results import results
from flybench.metrics.stats import Interval, mcnemar
from tests.helpers.synthetic import write_run

# Entries of figures that are no field of a row: of seeds, GPUs, rounds and families of tests.
ELSEWHERE = {
    *("holm_p", "pooled", "between_seeds", "between_samples", "emitted", "accept_at"),
    *("accept_cond", "sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c"),
}


@pytest.mark.parametrize(
    ("low", "high", "side"),
    [
        (1.0, 1.2, "above"),
        (0.9, 0.99, "below"),
        (0.9, 1.0, "open"),
        (0.99, 1.2, "open"),
        (1.0, 1.0, "open"),
    ],
)
def test_the_whole_interval_is_on_a_side(low: float, high: float, side: str) -> None:
    assert Interval(low, high).side(1) == Estimate(3, 1.0, Interval(low, high)).side(1) == side


def test_without_an_interval_nothing_is_decided() -> None:
    nothing = Estimate(1, 1.2, None)
    assert (nothing.side(1), nothing.verdict(0.01)) == ("open", "not resolved")
    assert nothing.needed(1) == MAX_COUNT
    assert (nothing.text("×"), nothing.in_words("×")) == ("1.20×", "1.20× (no interval)")


def test_texts() -> None:
    found = Estimate(9, 0.987, Interval(0.951, 1.02))
    assert found.text("×") == "0.99× [0.95,\u00a01.02]"
    assert found.text("%") == "98.7\u00a0% [95.1,\u00a0102.0]"
    assert found.in_words("×") == "0.99× (95\u00a0% interval 0.95 to 1.02)"
    assert found.in_words("%") == "98.7\u00a0% (95\u00a0% interval 95.1\u00a0% to 102.0\u00a0%)"
    assert found.brief() == "0.987 [0.951, 1.02]"


def test_a_row_holds_what_the_pairs_give(tmp_path: Path) -> None:
    plain, fly = results(write_run(tmp_path / "run", 20, lose=[1, 2]))
    pair, row = fly.over(plain), fly.row
    assert pair.speedup()[:3] == row.estimate("speedup_latency")[:3]
    assert pair.throughput()[:3] == row.estimate("speedup_throughput")[:3]
    assert pair.retention()[:3] == row.estimate("retention")[:3]
    assert pair.discordant() == row.pairs == (14, 2, 0, 4)
    assert row.pairs.p == row.mcnemar_p == mcnemar(2, 0)
    assert plain.row.pairs is None and not fly.graded


def test_the_glossary_has_every_figure_of_a_row_and_no_other() -> None:
    fields = {field.name for field in msgspec.structs.fields(MethodSummary)}
    extra = {name for name in GLOSSARY if name.startswith("fate_")} | ELSEWHERE
    assert fields == set(GLOSSARY) - extra
    assert set(GLOSSARY) > ELSEWHERE
