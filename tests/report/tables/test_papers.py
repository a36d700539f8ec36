"""Tables as CSV and LaTeX: the same figures, and nothing in them acts."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from flybench.report import write_report
from flybench.report.tables.export import to_csv, to_latex
from flybench.report.tables.table import Column, Table, TableCell
from tests.helpers.parsing import HOSTILE
from tests.helpers.synthetic import write_run


def table(*texts: str) -> Table:
    cells = [TableCell(text) for text in texts]
    columns = [Column("method", numeric=False), Column("speed-up", "×")]
    ends = TableCell("1,234.5", "[1.0,\u00a0−2.0]", ends=("1.0", "-2.0"))
    return Table("A caption", columns, [[cell, ends] for cell in cells])


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_csv_has_the_ends_of_intervals_beside_the_figure() -> None:
    assert read(to_csv(table("fly", "—"))) == [
        ["method", "speed-up (×)", "speed-up (×), low", "speed-up (×), high"],
        ["fly", "1234.5", "1.0", "-2.0"],
        ["", "1234.5", "1.0", "-2.0"],
    ]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-1+cmd", "@SUM(A1)", "\t=1", " =1", "\r=1", "\u202e=1", "-", "\n=1"]
)
def test_csv_has_no_formula(text: str) -> None:
    found = read(to_csv(table(text)))[1][0]
    assert not found.lstrip().startswith(("=", "+", "-", "@"))
    assert "\u202e" not in found and "\r" not in found


def test_negative_numbers_stay_numbers() -> None:
    assert read(to_csv(table("-0.5")))[1][0] == "-0.5"


def test_latex_prints_the_text_itself() -> None:
    written = to_latex(table(r"50% of $x_1 & \input{a}", "[b]", "*c", "a\\\\\nb"))
    assert written.splitlines()[0] == r"% A caption"
    assert r"50\% of \$x\_1 \& \textbackslash{}input\{a\} & 1,234.5" in written
    assert "{[}b] &" in written and "{*}c &" in written
    assert r"a\textbackslash{}\textbackslash{} b &" in written
    assert r"{\footnotesize {[}1.0,~$-$2.0]}" in written
    assert written.count(r"\\" + "\n") == 5
    assert r"\begin{tabular}{lr}" in written and r"\bottomrule" in written


def test_hostile_text_is_inert_in_latex() -> None:
    written = to_latex(table(HOSTILE))
    [row] = [line for line in written.splitlines() if "alert" in line]
    bare = re.sub(r"\\[&%$#_{}]", "", row.removesuffix(r" \\"))
    assert not re.search(r"[%#_]|\u202e", bare)
    assert bare.count("&") == 1 and bare.count("{") == bare.count("}")


def test_a_report_writes_both_for_each_task(tmp_path: Path) -> None:
    index = write_report([write_run(tmp_path / "run", 6)], tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out/tables").iterdir())
    kinds = ("accuracy", "costs", "headline", "loose")
    assert names == [f"{kind}-sums-tiny.{end}" for kind in kinds for end in ("csv", "tex")]
    head, ar, fly = read((tmp_path / "out/tables/headline-sums-tiny.csv").read_text())
    assert (ar[0], fly[0]) == ("ar", "fly")
    point, low, high = (
        float(fly[head.index(f"speed-up, throughput (×){end}")]) for end in ("", ", low", ", high")
    )
    assert low <= point <= high
    assert "headline-sums-tiny" in index.read_text(encoding="utf-8")
