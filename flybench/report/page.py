"""The page's contents, in the order that they are read: what, why, at which price, how made."""

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

NO_CARD = "No card was read: only NVIDIA's tell of clocks and energy, and old records do not."


class Answer(NamedTuple):
    """What one task and model have to say on speed and accuracy; `more` folds."""

    conclusion: Conclusion
    headline: Table
    plots: list[Plot]
    verdicts: list[ArmVerdict]
    more: list[Table]


class Section(NamedTuple):
    """A section in plain shape: sentences, tables and figures, and behind a click the `more`."""

    sentences: list[str]
    tables: list[Table]
    plots: list[Plot]
    asides: list[str]
    more: list[Table]


class Page(NamedTuple):
    """Everything that both forms of the report show."""

    title: str
    subtitle: str
    answers: list[Answer]
    together: Section
    time: Section
    why: Section
    words: Section
    samples: list[Table]
    inspected: list[inspector.Block]
    failures: list[Table]
    glossary: Table
    made: Section
    commands: dict[str, list[str]]
    files: dict[str, str]
    papers: dict[str, Table]

    @property
    def plots(self) -> list[Plot]:
        drawn = [plot for answer in self.answers for plot in answer.plots]
        return [*drawn, *self.time.plots, *self.why.plots, *self.words.plots]


def page(runs: Sequence[Run]) -> Page:
    """Tables, figures and sentences on `runs`."""
    found = groups([run for run in runs if run.arms])
    looks = figures.looks(found)
    answers = [_answer(group, looks) for group in found]
    tests = _present([across.accuracy_tests(runs), *across.tables(runs)])
    return Page(
        title=f"flybench: {_what(runs)}",
        subtitle=_machines(runs),
        answers=answers,
        together=Section(across.notes(runs), [], [], [], tests),
        time=_time(found, looks),
        why=Section([], [], figures.drawn(found, looks, "why"), [], []),
        words=_words(found, looks),
        samples=_per_arm(found, samples.samples),
        inspected=inspector.blocks(runs),
        failures=_present([overview.failures(runs)]),
        glossary=overview.glossary(),
        made=Section(
            [], _present([provenance.shared(runs)]), [], [], _present([provenance.own(runs)])
        ),
        commands=provenance.commands(runs),
        files=provenance.files(runs),
        papers=_papers(found, answers),
    )


def _answer(group: Group, looks: figures.Looks) -> Answer:
    told = {
        arm: verdict
        for run in group.runs
        for arm, verdict in zip(run.shown, verdicts(run), strict=True)
    }
    categories = (samples.categories(run, arm) for run, arm in group.pairs)
    more = [overview.accuracy(group), floor.table(group), judging.judging(group)]
    more += [overview.rules(group), *categories, overview.everything(group)]
    return Answer(
        conclusion(group),
        overview.headline(group, told),
        [*figures.drawn([group], looks, "verdict"), *figures.grids(group)],
        list(told.values()),
        _present(more),
    )


def _time(found: Sequence[Group], looks: figures.Looks) -> Section:
    metered = _present([gpu_states.gpu_states(group) for group in found])
    return Section(
        [text for group in found for text in costs.regimes(group)] + ([] if metered else [NO_CARD]),
        _present([costs.rounds(group) for group in found]),
        figures.drawn(found, looks, "time"),
        [text for group in found for text in costs.sentences(group)],
        metered,
    )


def _words(found: Sequence[Group], looks: figures.Looks) -> Section:
    return Section(
        [],
        _present([loose.table(group) for group in found]),
        figures.drawn(found, looks, "words"),
        [],
        [
            *_per_arm(found, samples.flips),
            *_per_arm(found, loose.before_lost_facts),
            *_per_arm(found, loose.before_won_facts),
        ],
    )


def _per_arm(found: Sequence[Group], build: Callable[[Run, Arm], Table | None]) -> list[Table]:
    shown = [(run, arm) for group in found for run in group.runs for arm in run.shown]
    return _present([build(run, arm) for run, arm in shown])


def _papers(found: Sequence[Group], answers: Sequence[Answer]) -> dict[str, Table]:
    """The tables that are written as files too, by name."""
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


def _what(runs: Sequence[Run]) -> str:
    titles = list(dict.fromkeys(run.title for run in runs))
    methods = list(dict.fromkeys(arm.method for run in runs for arm in run.compared))
    what = f"{len(methods)} methods" if len(methods) > 3 else ", ".join(methods) or "AR"
    return f"{what} on {titles[0] if len(titles) == 1 else f'{len(titles)} tasks'}"


def _machines(runs: Sequence[Run]) -> str:
    known = [run.provenance for run in runs]
    places = dict.fromkeys(f"{about['device']}, engine {about['engine']}" for about in known)
    count = f"{len(runs)} runs; " if len(runs) > 1 else ""
    return f"{count}{'; '.join(places)}; one stream (batch size 1)"
