"""The argument parser of a verb, with help on settings and exit codes, and one-line errors."""

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
    """Parser of `flybench VERB`.

    If a verb adds settings, `key=value` arguments are returned by `read` as `settings`. If it sets
    `forwards_arguments`, no argument is parsed, and all are returned as `words`.
    """

    def __init__(self, verb: str, summary: str) -> None:
        super().__init__(
            f"flybench {verb}",
            description=f"{summary[0].upper()}{summary[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._sections: list[str] = []
        self.takes_settings = False
        self.forwards_arguments = False

    def add_settings(self, rows: Rows) -> None:
        """Allow `key=value` arguments, and list the settings in the help."""
        self.takes_settings = True
        self.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="settings, listed below")
        self._add_section("settings (key=value, in any order)", rows)

    def add_exit_codes(self, rows: Rows) -> None:
        """List the exit codes in the help."""
        self._add_section("exit codes", rows)

    def add_examples(self, *commands: str) -> None:
        """List example commands in the help."""
        self._add_section("examples", [(command, "") for command in commands])

    def help_requested(self, words: Sequence[str]) -> bool:
        """Return True if the arguments include the help option of this verb."""
        return any(word in HELP for word in (words[:1] if self.forwards_arguments else words))

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse the arguments; the result also has all of them as `words`.

        Raises:
            FlybenchError: an argument is unknown or missing.
        """
        args = argparse.Namespace()
        if not self.forwards_arguments:
            settings, rest = split_overrides(words) if self.takes_settings else ([], words)
            args, unknown = self.parse_known_args(list(rest))
            for word in [*unknown, *getattr(args, "settings", [])]:
                self.error(self._unknown(word))
            args.settings = settings
        args.words = list(words)
        return args

    def error(self, message: str) -> NoReturn:
        raise FlybenchError(f"{message}; see `{self.prog} --help`.")

    def format_help(self) -> str:
        """Return argparse's help followed by the added sections."""
        return "\n".join([super().format_help(), *self._sections])

    def _unknown(self, word: str) -> str:
        if word.startswith("-"):
            name = word.partition("=")[0]
            close = suggestion(name, self._option_string_actions)
            return f"{name} is not an option of `{self.prog}`{close}"
        if self.takes_settings:
            return f"{word!r} is neither an option nor key=value"
        return f"{word!r} is an unexpected argument"

    def _add_section(self, title: str, rows: Rows) -> None:
        width = max(shutil.get_terminal_size().columns - 2, INDENT + 30)
        lines = [f"{title}:"]
        for name, meaning in rows:
            wrapped = textwrap.wrap(meaning, width - INDENT) or [""]
            if len(name) > INDENT - 4:
                lines.append(f"  {name}")
            else:
                lines.append(f"  {name:{INDENT - 2}}{wrapped.pop(0)}".rstrip())
            lines += [f"{'':{INDENT}}{each}" for each in wrapped if each]
        self._sections.append("\n".join(lines) + "\n")
