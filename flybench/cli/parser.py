"""The parser of one verb: a help text for every option, setting and exit code, one-line errors."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Sequence
from typing import NoReturn

from flybench.config.checks import suggestion
from flybench.config.overrides import split_overrides
from flybench.core.errors import FlybenchError

INDENT = 24
HELP = ("-h", "--help")
Rows = Sequence[tuple[str, str]]


class Parser(argparse.ArgumentParser):
    """The options and positional arguments of `flybench VERB`, declared without heavy imports.

    A verb with a section of settings takes `key=value` words, which `read` gives as
    `settings`. One that sets `hands_over` gives every word to another program, as `words`.
    """

    def __init__(self, verb: str, summary: str) -> None:
        super().__init__(
            f"flybench {verb}",
            description=f"{summary[0].upper()}{summary[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._sections: list[str] = []
        self.takes_settings = False
        self.hands_over = False

    def add_settings(self, rows: Rows) -> None:
        """Allow `key=value` words, and list them with what they set."""
        self.takes_settings = True
        self.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="settings, listed below")
        self._add_section("settings (key=value, in any order)", rows)

    def add_exit_codes(self, rows: Rows) -> None:
        """List the exit codes and what they mean."""
        self._add_section("exit codes", rows)

    def add_examples(self, *commands: str) -> None:
        """List commands to copy."""
        self._add_section("examples", [(command, "") for command in commands])

    def asks_for_help(self, words: Sequence[str]) -> bool:
        """Whether the words ask for the help of this verb."""
        return any(word in HELP for word in (words[:1] if self.hands_over else words))

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments, with all `words` as they were given, and `settings` where they are taken.

        Raises:
            FlybenchError: a word is not known, or one is missing.
        """
        asked = argparse.Namespace()
        if not self.hands_over:
            settings, rest = split_overrides(words) if self.takes_settings else ([], words)
            asked, unknown = self.parse_known_args(list(rest))
            for word in [*unknown, *getattr(asked, "settings", [])]:
                self.error(self._unknown(word))
            asked.settings = settings
        asked.words = list(words)
        return asked

    def error(self, message: str) -> NoReturn:
        raise FlybenchError(f"{message}; see `{self.prog} --help`.")

    def format_help(self) -> str:
        """argparse's help, and the sections below it."""
        return "\n".join([super().format_help(), *self._sections])

    def _unknown(self, word: str) -> str:
        if word.startswith("-"):
            name = word.partition("=")[0]
            close = suggestion(name, self._option_string_actions)
            return f"{name} is not an option of `{self.prog}`{close}"
        if self.takes_settings:
            return f"{word!r} is neither an option nor key=value"
        return f"{word!r} is one argument too many"

    def _add_section(self, title: str, rows: Rows) -> None:
        width = max(shutil.get_terminal_size().columns - 2, INDENT + 30)
        lines = [f"{title}:"]
        for name, meaning in rows:
            told = textwrap.wrap(meaning, width - INDENT) or [""]
            if len(name) > INDENT - 4:
                lines.append(f"  {name}")
            else:
                lines.append(f"  {name:{INDENT - 2}}{told.pop(0)}".rstrip())
            lines += [f"{'':{INDENT}}{each}" for each in told if each]
        self._sections.append("\n".join(lines) + "\n")
