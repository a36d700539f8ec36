"""The cells of a grid: a recorded method at every combination of the settings asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Transformer

from flybench.config import MethodConfig, VerifyConfig
from flybench.config.checks import build, suggestion
from flybench.config.declared import parameters
from flybench.core.errors import FlybenchError

K, VERIFY = "method.k", "method.verify."


def grid(recorded: MethodConfig, settings: Sequence[str]) -> tuple[list[MethodConfig], int]:
    """`recorded` with every combination of settings such as `method.k=5,10`, without repetitions,
    and how many combinations were left out since their window does not fit in their draft.

    A setting of a rule asks for `fly` where no kind is named and the recorded one lacks it.

    Raises:
        FlybenchError: a setting is of no rule that can be replayed, a value is not allowed, or
            nothing is left.
    """
    values = dict(_values(each, _names(recorded)) for each in _parsed(settings))
    asked = {name.removeprefix(VERIFY) for name in values.keys() - {K}}
    if (
        asked - {"kind"}
        and "kind" not in asked
        and not asked <= dict(recorded.verify.values).keys()
    ):
        values[VERIFY + "kind"] = ["fly"]
    combinations = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    made = [_settled(recorded, each) for each in combinations]
    for verify, _ in made:
        check_replayable(verify)
    fitting = [(verify, k) for verify, k in made if k > _lookahead(verify)]
    chosen = dict.fromkeys(fitting or made)  # with none that fits, the method says why
    cells = [replace(recorded, verify=verify, k=k) for verify, k in chosen]
    return cells, len(made) - len(fitting)


def _parsed(settings: Sequence[str]) -> list[Override]:
    try:
        parsed: list[Override] = OverridesParser.create().parse_overrides(list(settings))
    except Exception as error:  # of Hydra's grammar
        raise FlybenchError(
            f"the settings {' '.join(settings)} cannot be read: write them as key=value, with "
            "commas between several values."
        ) from error
    return parsed


def check_replayable(verify: VerifyConfig) -> None:
    """Refuse a rule whose outcomes do not follow from recorded traces.

    Raises:
        FlybenchError: the rule has no method `replay`.
    """
    declared = verify.declaration(greedy=True)
    if not declared.option("lossless", False) and "replay" not in declared.methods:
        raise FlybenchError(
            f"method.verify.kind={verify.kind} cannot be replayed, since {declared.class_name} has "
            "no method `replay`: decode it with `flybench run`, or add the method "
            "(flybench/verify/fly.py has one)."
        )


def _lookahead(verify: VerifyConfig) -> int:
    return int(verify.get(verify.declaration(greedy=True).option("lookahead", ""), -1))


def _names(recorded: MethodConfig) -> list[str]:
    """The settings that can be replayed: K, and those of the rules that come with flybench or that
    the run used."""
    own = {name for name, _ in recorded.verify.values} | parameters("verify")
    return [K, VERIFY + "kind", *(VERIFY + name for name in sorted(own - {"at_temperature"}))]


def _values(override: Override, known: Sequence[str]) -> tuple[str, list[Any]]:
    name = str(override.key_or_group)
    if name not in known:
        raise FlybenchError(
            f"{name} cannot be replayed: set any of {', '.join(known)}, or latency=FILE"
            f"{suggestion(name, known)}."
        )
    if not override.is_sweep_override():
        return name, [override.value()]
    return name, list(override.sweep_iterator(transformer=Transformer.identity))


def _settled(recorded: MethodConfig, values: dict[str, Any]) -> tuple[VerifyConfig, int]:
    k = build(int, values.get(K, recorded.k), K)
    own = {name.removeprefix(VERIFY): value for name, value in values.items() if name != K}
    verify = VerifyConfig.from_tree(recorded.verify.tree() | own)
    return verify, k
