"""Rendering of a page's contents through Jinja templates.

Both environments escape every printed value: `index.html` by Jinja's autoescape, `report.md` by a
finaliser. Values that a template prints raw are marked in the template.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from flybench.metrics.glossary import GLOSSARY
from flybench.report.inspector import script_hash
from flybench.report.page import Page
from flybench.text import markdown, preformatted, visible

SECTIONS = {
    "verdict": "Is it faster, and is it as accurate?",
    "time": "Where does the time go?",
    "why": "Why?",
    "differences": "How do the answers differ?",
    "inspector": "Token by token",
    "glossary": "Glossary",
    "reproduction": "How to reproduce it",
}


def html(content: Page) -> str:
    """Render the page as one self-contained HTML file."""
    environment = _environment(visible, autoescape=True)
    loader = PackageLoader("flybench.report")
    style, more, script = (
        Markup(loader.get_source(environment, name)[0])
        for name in ("style.css", "inspector.css", "inspector.js")
    )
    return environment.get_template("index.html.j2").render(
        page=content,
        style=style + more,
        script=script,
        script_hash=script_hash(script),
        glossary=GLOSSARY,
        sections=SECTIONS,
    )


def text(content: Page) -> str:
    """Render the same contents as markdown, with links to the figure files."""
    environment = _environment(markdown, autoescape=False, keep_trailing_newline=True)
    environment.filters["preformatted"] = preformatted
    return environment.get_template("report.md.j2").render(page=content, sections=SECTIONS)


def _environment(finalize: Callable[[Any], Any], **options: Any) -> Environment:
    return Environment(
        loader=PackageLoader("flybench.report"),
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )
