"""The two lines at the top: what to use, and what is faster at which price."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import structs

from flybench.records.folder import RunFolder
from flybench.report.findings.conclusion import Conclusion, conclusion
from flybench.report.group import groups
from flybench.report.run import load
from tests.helpers.synthetic import write_run


def concluded(*folders: RunFolder) -> Conclusion:
    [group] = groups(load(folders))
    return conclusion(group)


def alike(folder: RunFolder) -> RunFolder:
    """The run with AR's own ids as its answers."""
    found = folder.records()
    for (sample, method), record in found.items():
        if method != "ar":
            ids = found[sample, "ar"].turns[0].ids
            folder.append(
                structs.replace(record, turns=[structs.replace(record.turns[0], ids=ids)])
            )
    return folder


def run(path: Path, name: str, n: int = 40, **options: Any) -> RunFolder:
    return write_run(path / name, n, method=name, **options)


def test_equal_answers_are_safe_and_the_faster_is_priced(tmp_path: Path) -> None:
    found = concluded(
        alike(run(tmp_path, "spd", speed=1.5)), run(tmp_path, "fly", speed=2.5, lose=range(20))
    )
    assert found.kind == "good"
    assert found.first.startswith("Use spd: its speed-up over AR is 1.")
    assert found.first.endswith("all 40 answers equal AR's, token for token.")
    assert found.second.startswith("Faster, but not shown safe: fly 2.")
    assert "accuracy is lost, retention" in found.second


def test_no_method_is_both(tmp_path: Path) -> None:
    found = concluded(run(tmp_path, "fly", lose=range(20)))
    assert (found.kind, found.first) == (
        "bad",
        "No method is shown to answer faster than AR and to be as accurate.",
    )
    assert found.second.startswith("Fastest: fly 1.") or found.second.startswith("Fastest: fly 2.")


def test_slow_methods_are_named(tmp_path: Path) -> None:
    found = concluded(run(tmp_path, "spd", speed=0.5))
    assert (found.kind, found.first) == (
        "bad",
        "No method is shown to answer faster than AR.",
    )
    assert found.second == "Not shown to be faster than AR: spd."


def test_few_samples_settle_nothing(tmp_path: Path) -> None:
    found = concluded(run(tmp_path, "fly", n=4))
    assert (found.kind, found.first) == (
        "open",
        "No conclusion: 4 paired samples are too few.",
    )
    assert found.second == "Too few samples for a conclusion: fly."


def test_ar_alone(tmp_path: Path) -> None:
    assert concluded(run(tmp_path, "ar")).first == "There is no method to compare with AR."


def test_failures_are_named_first_and_praise_waits(tmp_path: Path) -> None:
    folder = alike(run(tmp_path, "spd", speed=1.5))
    found = folder.records()
    folder.records_file.unlink()
    (failing, *_) = {sample for sample, _ in found}
    for (sample, method), record in found.items():
        broken = sample == failing and method == "spd"
        folder.append(structs.replace(record, turns=[], error="broken") if broken else record)
    ar, spd = load([folder])[0].arms
    assert (ar.row.n, spd.row.n, spd.row.n_error) == (39, 39, 1)
    said = concluded(folder)
    assert said.first.startswith("Failed and excluded for every method: 1 sample under spd.")
    assert "Use spd" not in said.first
    assert "token for token" not in said.first
