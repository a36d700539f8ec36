"""The page's contents, in the order that they are read, and the templates that lay them out.

Both environments make every printed value safe by themselves: `index.html` through Jinja's
autoescape, `report.md` through a finaliser; what a template prints raw is marked there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from flybench.report import (
    across,
    cards,
    costs,
    family,
    figures,
    floor,
    harm,
    inspector,
    judging,
    provenance,
    samples,
    scatter,
    tables,
)
from flybench.report.glossary import GLOSSARY
from flybench.report.plot import Plot
from flybench.report.run import Arm, Run
from flybench.report.tables import Table
from flybench.report.text import markdown, preformatted, visible
from flybench.report.verdict import Verdict, verdicts

FILES = ("config.yaml", "provenance.json", "prompt.txt")


class Origin(NamedTuple):
    """Where one run came from; `files` are shown as they are."""

    name: str
    settings: Table
    command: str
    files: dict[str, str]


class Page(NamedTuple):
    """Everything that both forms of the report show."""

    title: str
    subtitle: str
    verdicts: list[Verdict]
    headline: Table
    floors: list[Table]
    families: list[Table]
    seeds: list[Table]
    seed_notes: list[str]
    everything: Table
    speed: list[Plot]
    acceptance: list[Plot]
    fates: list[Plot]
    costs: list[str]
    parts: list[Table]
    phases: list[Plot]
    cards: list[Table]
    judging: list[Table]
    rules: list[Table]
    categories: list[Table]
    flips: list[Table]
    harm: list[Table]
    samples: list[Table]
    answers: list[inspector.Block]
    failures: list[Table]
    origins: list[Origin]
    glossary: Table

    @property
    def plots(self) -> list[Plot]:
        return [*self.speed, *self.acceptance, *self.fates, *self.phases]


def page(runs: Sequence[Run]) -> Page:
    """Tables, figures and sentences on `runs`."""
    arms = [arm for run in runs for arm in run.arms]
    drafting = [arm for run in runs for arm in run.compared if len(arm.rounds)]
    timed = [arm for arm in arms if len(arm.rounds)]
    return Page(
        title=f"flybench: {_what(runs)}",
        subtitle=_machines(runs),
        verdicts=[verdict for run in runs for verdict in verdicts(run)],
        headline=tables.headline(runs),
        floors=_present([floor.table(runs)]),
        families=_present([family.table(runs)]),
        seeds=across.tables(runs),
        seed_notes=across.notes(runs),
        everything=tables.everything(runs),
        speed=scatter.speed_against_retention(runs),
        acceptance=list(_acceptance(drafting)),
        fates=[
            figures.fates(arm, f"fates-{index}")
            for index, arm in enumerate(drafting, start=1)
            if arm.rounds["drafted"].any()
        ],
        costs=costs.sentences(runs),
        parts=_present([costs.rounds(runs)]),
        phases=[figures.phases(timed)] if timed else [],
        cards=_present([cards.cards(runs)]),
        judging=_present([judging.judging(runs)]),
        rules=_present([tables.rules(runs)]),
        categories=_per_arm(runs, samples.categories),
        flips=_per_arm(runs, samples.flips),
        harm=_per_arm(runs, harm.table),
        samples=_per_arm(runs, samples.samples),
        answers=inspector.blocks(runs),
        failures=_present([tables.failures(runs)]),
        origins=[_origin(run) for run in runs],
        glossary=tables.glossary(),
    )


def html(content: Page) -> str:
    """The page as one file that needs nothing else."""
    environment = Environment(
        loader=PackageLoader("flybench.report"),
        autoescape=True,
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loader = PackageLoader("flybench.report")
    style, more, script = (
        Markup(loader.get_source(environment, name)[0])
        for name in ("style.css", "inspector.css", "inspector.js")
    )
    return environment.get_template("index.html.j2").render(
        page=content,
        style=style + more,
        script=script,
        script_hash=inspector.script_hash(script),
        glossary=GLOSSARY,
    )


def text(content: Page) -> str:
    """The same tables as markdown, with links to the figures' files."""
    environment = Environment(
        loader=PackageLoader("flybench.report"),
        autoescape=False,
        finalize=markdown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["preformatted"] = preformatted
    return environment.get_template("report.md.j2").render(page=content)


def _acceptance(arms: Sequence[Arm]) -> Iterator[Plot]:
    for index, arm in enumerate(arms, start=1):
        yield figures.lengths(arm, f"lengths-{index}")
        if arm.rounds["drafted"].any():
            yield figures.positions(arm, f"positions-{index}")


def _per_arm(runs: Sequence[Run], build: Callable[[Run, Arm], Table | None]) -> list[Table]:
    return _present([build(run, arm) for run in runs for arm in run.shown])


def _present(candidates: Sequence[Table | None]) -> list[Table]:
    return [table for table in candidates if table is not None]


def _origin(run: Run) -> Origin:
    files = {name: run.text(name) for name in FILES}
    present = {name: text for name, text in files.items() if text}
    return Origin(run.name, provenance.settings(run), provenance.command(run), present)


def _what(runs: Sequence[Run]) -> str:
    if len(runs) != 1:
        return f"{len(runs)} runs"
    methods = ", ".join(arm.method for arm in runs[0].compared) or "AR"
    return f"{methods} on {runs[0].title}"


def _machines(runs: Sequence[Run]) -> str:
    known = [run.provenance for run in runs]
    places = dict.fromkeys(f"{about['device']}, engine {about['engine']}" for about in known)
    return f"{'; '.join(places)}; one stream (batch size 1)"
