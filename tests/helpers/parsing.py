"""A page as a test sees it: its elements, its text, and whether its tags nest."""

from __future__ import annotations

from html.parser import HTMLParser

# Text that is markup, a formula and a template at once.
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>|\n`a` $x$ \u202egpj \"'{{ 7*7 }}"
VOID = {"meta", "img", "source", "link", "br", "hr", "input"}
LOADING = {"src", "srcset", "href", "action", "data", "poster", "background"}


class Page(HTMLParser):
    """Raises AssertionError on a tag that closes nothing or the wrong thing."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.feed(markup)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def loads(self) -> list[str]:
        """Every address that the page names."""
        return [
            value
            for _, attributes in self.elements
            for name, value in attributes.items()
            if name in LOADING
        ]

    def tags(self, name: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> repeats an attribute: {names}"
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.texts.append(data)
