"""Contents of the report page, in reading order: verdicts, time, causes, answers, reproduction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from flybench.report import figures, inspector
from flybench.report.findings import floor, judging
from flybench.report.findings.conclusion import Conclusion, conclusion
from flybench.report.findings.verdict import ArmVerdict, verdicts
from flybench.report.group import Group, groups
from flybench.report.plot import Plot
from flybench.report.run import Arm, Run
from flybench.report.tables import (
    across,
    costs,
    gpu_states,
    loose,
    overview,
    provenance,
    samples,
)
from flybench.report.tables.table import Table

NO_GPU = "No GPU telemetry was recorded: only NVIDIA GPUs provide it, and older records lack it."


class Answer(NamedTuple):
    """Results on speed and accuracy for one task and model; the tables of `more` are collapsed."""

    conclusion: Conclusion
    headline: Table
    plots: list[Plot]
    verdicts: list[ArmVerdict]
    more: list[Table]


class Section(NamedTuple):
    """A section of sentences, figures and tables; `asides` and `more` are collapsed."""

    sentences: list[str]
    tables: list[Table]
    plots: list[Plot]
    asides: list[str]
    more: list[Table]


class Page(NamedTuple):
    """Contents shared by the HTML and the markdown report."""

    title: str
    subtitle: str
    answers: list[Answer]
    together: Section
    time: Section
    why: Section
    differences: Section
    samples: list[Table]
    inspected: list[inspector.Block]
    failures: list[Table]
    glossary: Table
    reproduction: Section
    commands: dict[str, list[str]]
    files: dict[str, str]
    papers: dict[str, Table]

    @property
    def plots(self) -> list[Plot]:
        drawn = [plot for answer in self.answers for plot in answer.plots]
        return [*drawn, *self.time.plots, *self.why.plots, *self.differences.plots]


def page(runs: Sequence[Run]) -> Page:
    """Build the tables, figures and sentences of the report on `runs`."""
    found = groups([run for run in runs if run.arms])
    styles = figures.styles(found)
    answers = [_answer(group, styles) for group in found]
    tests = _present([across.accuracy_tests(runs), *across.tables(runs)])
    return Page(
        title=f"flybench: {_subject(runs)}",
        subtitle=_machines(runs),
        answers=answers,
        together=Section(across.notes(runs), [], [], [], tests),
        time=_time(found, styles),
        why=Section([], [], figures.drawn(found, styles, "why"), [], []),
        differences=_differences(found, styles),
        samples=_per_arm(found, samples.samples),
        inspected=inspector.blocks(runs),
        failures=_present([overview.failures(runs)]),
        glossary=overview.glossary(),
        reproduction=Section(
            [], _present([provenance.shared(runs)]), [], [], _present([provenance.own(runs)])
        ),
        commands=provenance.commands(runs),
        files=provenance.files(runs),
        papers=_papers(found, answers),
    )


def _answer(group: Group, styles: figures.Styles) -> Answer:
    by_arm = {
        arm: verdict
        for run in group.runs
        for arm, verdict in zip(run.shown, verdicts(run), strict=True)
    }
    categories = (samples.categories(run, arm) for run, arm in group.pairs)
    more = [overview.accuracy(group), floor.table(group), judging.judging(group)]
    more += [overview.rules(group), *categories, overview.everything(group)]
    return Answer(
        conclusion(group),
        overview.headline(group, by_arm),
        [*figures.drawn([group], styles, "verdict"), *figures.grids(group)],
        list(by_arm.values()),
        _present(more),
    )


def _time(found: Sequence[Group], styles: figures.Styles) -> Section:
    metered = _present([gpu_states.gpu_states(group) for group in found])
    return Section(
        [text for group in found for text in costs.regimes(group)] + ([] if metered else [NO_GPU]),
        _present([costs.rounds(group) for group in found]),
        figures.drawn(found, styles, "time"),
        [text for group in found for text in costs.sentences(group)],
        metered,
    )


def _differences(found: Sequence[Group], styles: figures.Styles) -> Section:
    return Section(
        [],
        _present([loose.table(group) for group in found]),
        figures.drawn(found, styles, "differences"),
        [],
        [
            *_per_arm(found, samples.flips),
            *_per_arm(found, loose.before_lost),
            *_per_arm(found, loose.before_won),
        ],
    )


def _per_arm(found: Sequence[Group], build: Callable[[Run, Arm], Table | None]) -> list[Table]:
    shown = [(run, arm) for group in found for run in group.runs for arm in run.shown]
    return _present([build(run, arm) for run, arm in shown])


def _papers(found: Sequence[Group], answers: Sequence[Answer]) -> dict[str, Table]:
    """Tables that are also written as files, by file name."""
    tables = {
        f"{name}-{group.key}": table
        for group, answer in zip(found, answers, strict=True)
        for name, table in {
            "headline": answer.headline,
            "accuracy": overview.accuracy(group),
            "costs": costs.rounds(group),
            "loose": loose.table(group),
        }.items()
    }
    return {name: table for name, table in tables.items() if table is not None}


def _present(candidates: Sequence[Table | None]) -> list[Table]:
    return [table for table in candidates if table is not None]


def _subject(runs: Sequence[Run]) -> str:
    titles = list(dict.fromkeys(run.title for run in runs))
    methods = list(dict.fromkeys(arm.method for run in runs for arm in run.compared))
    listed = f"{len(methods)} methods" if len(methods) > 3 else ", ".join(methods) or "AR"
    return f"{listed} on {titles[0] if len(titles) == 1 else f'{len(titles)} tasks'}"


def _machines(runs: Sequence[Run]) -> str:
    facts = [run.provenance for run in runs]
    machines = dict.fromkeys(f"{each['device']}, engine {each['engine']}" for each in facts)
    count = f"{len(runs)} runs; " if len(runs) > 1 else ""
    return f"{count}{'; '.join(machines)}; batch size 1"
