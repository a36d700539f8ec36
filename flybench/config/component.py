"""The configuration of a drafter or a rule: its kind and the settings that the kind declares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

from flybench.config.checks import TYPE_NAMES, allow, suggestion
from flybench.config.declared import (
    FILE,
    Declaration,
    Package,
    Parameter,
    Value,
    declarations,
    is_deleted,
    kinds,
    parameters,
)
from flybench.core.errors import FlybenchError


@dataclass(frozen=True)
class ComponentConfig:
    """A `kind` and the values of the settings that it declares, sorted by name."""

    kind: str
    values: tuple[tuple[str, Value], ...] = ()

    package: ClassVar[Package]
    path: ClassVar[str]
    # Settings that have always been part of every run's key, whatever the kind. They stay in keys
    # and files at these values, so older runs can be resumed.
    ALWAYS_KEYED: ClassVar[Mapping[str, Value]]

    @classmethod
    def of(cls, kind: str, **settings: Value) -> Self:
        """Return a kind with `settings`, and its other settings at their defaults.

        Raises:
            FlybenchError: the kind or a setting is unknown, or a value is not allowed.
        """
        return cls.from_tree({"kind": kind, **settings})

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> Self:
        """Build the configuration from plain data.

        Settings of other kinds are dropped, so sweep cells that differ only in them become one.

        Raises:
            FlybenchError: as `of`.
        """
        if not isinstance(tree, Mapping):
            raise FlybenchError(
                f"{cls.path}={tree!r} is not allowed: it is a group of settings, so write key: "
                "value lines as the files in conf/ do."
            )
        given = dict(tree)
        kind = given.pop("kind", None)
        if not isinstance(kind, str):
            raise FlybenchError(f"{cls.path}.kind={kind!r} must be text.")
        if is_deleted(kind):
            return cls(kind, tuple(sorted(given.items())))  # a finished run whose file was deleted
        declared = declarations(cls.package, kind)
        if not declared:
            allow(f"{cls.path}.kind", kind, (*kinds(cls.package), f"{FILE}PATH.py:CLASS"))
        own = {name: each for part in declared for name, each in part.parameters.items()}
        for name in given:
            if name not in own and name not in parameters(cls.package) | cls.ALWAYS_KEYED.keys():
                known = ["kind", *own]
                raise FlybenchError(
                    f"{cls.path}.{name} is not a setting of {kind}: choose one of "
                    f"{', '.join(known)}{suggestion(name, known)}."
                )
        values = {name: _checked(f"{cls.path}.{name}", each, given) for name, each in own.items()}
        config = cls(kind, tuple(sorted(values.items())))
        for each in own.values():
            config._check_range(each)
        return config

    @classmethod
    def check_name(cls, name: str) -> None:
        """Check that a built-in kind declares the setting `name`.

        Raises:
            FlybenchError: no built-in kind does.
        """
        known = {"kind", *parameters(cls.package), *cls.ALWAYS_KEYED}
        if name not in known:
            raise FlybenchError(
                f"{cls.path}.{name} is not a setting: choose one of "
                f"{', '.join(sorted(known))}{suggestion(name, known)}."
            )

    def __getitem__(self, name: str) -> Any:
        """Return the value of a setting that the kind declares."""
        return dict(self.values)[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting, or `default` if the kind does not declare it."""
        return dict(self.values).get(name, default)

    @property
    def declared(self) -> list[Declaration]:
        """The declared classes of the kind; none if its file was deleted after the run."""
        return [] if is_deleted(self.kind) else declarations(self.package, self.kind)

    def option(self, name: str, default: Any) -> Any:
        """Return an argument of the kind's decorator."""
        return next((each.option(name, default) for each in self.declared), default)

    def declaration(self, greedy: bool) -> Declaration:
        """Return the class for greedy decoding, or for sampling.

        Raises:
            FlybenchError: the kind has none, or its file does not exist.
        """
        for each in declarations(self.package, self.kind):
            if each.covers(greedy):
                return each
        regime = "greedy decoding" if greedy else "sampling at temperature > 0"
        raise FlybenchError(
            f"{self.path}.kind={self.kind} does not support {regime}: use "
            f"{'sampling=t1' if greedy else 'sampling=greedy'}, or another kind."
        )

    def tree(self) -> dict[str, Value]:
        """Return the settings as they are written to files."""
        return {"kind": self.kind, **self.ALWAYS_KEYED, **dict(self.values)}

    def identity(self) -> dict[str, Any]:
        """Return the settings that enter a run's key.

        Settings at their default are left out, except those of `ALWAYS_KEYED`, so a new setting
        does not change existing keys. The code of a user's file is part of the key.
        """
        declared = declarations(self.package, self.kind)
        defaults = {n: each.default for part in declared for n, each in part.parameters.items()}
        changed = {
            name: value
            for name, value in self.values
            if name in self.ALWAYS_KEYED or value != defaults.get(name)
        }
        source = {"code": declared[0].code_sha256} if self.kind.startswith(FILE) else {}
        return {"kind": self.kind, **self.ALWAYS_KEYED, **changed, **source}

    def shown(self) -> str:
        """Return the settings for a table: labelled ones, and others not at their default."""
        known = {n: each for part in self.declared for n, each in part.parameters.items()}
        parts = [
            f"{each.label or name}={_text(self[name])}"
            for name, each in known.items()
            if (each.label or self[name] != each.default) and self.get(each.only_with, True)
        ]
        return " ".join(parts)

    def _check_range(self, each: Parameter) -> None:
        value, name = self[each.name], f"{self.path}.{each.name}"
        if isinstance(value, bool | str):
            return
        low = self.get(each.low) if isinstance(each.low, str) else each.low
        high = self.get(each.high) if isinstance(each.high, str) else each.high
        below, above = low is not None and value < low, high is not None and value > high
        if math.isnan(value) or below or above:
            least, most = _bound(each.low, low), _bound(each.high, high)
            bounds = f"{least} to {most}" if most else f"{least} or more"
            bounds = bounds if least else f"at most {most}"
            unit = f" {each.unit}" if each.unit else ""
            raise FlybenchError(
                f"{name}={_text(value)} is not allowed: use {bounds}{unit} ({each.help})."
            )


def _checked(name: str, each: Parameter, given: Mapping[str, Any]) -> Value:
    value: Any = given.get(each.name, each.default)
    if each.type is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not each.type:
        raise FlybenchError(f"{name}={value!r} must be {TYPE_NAMES[each.type]}.")
    if each.choices:
        allow(name, str(value), each.choices)
    return cast(Value, value)


def _bound(declared: float | str | None, value: float | None) -> str:
    if value is None:
        return ""
    return f"{declared}={_text(value)}" if isinstance(declared, str) else _text(value)


def _text(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
