"""The cells of a grid: a recorded method at every combination of the settings asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Transformer

from flybench.config import MethodConfig, VerifyConfig
from flybench.config.checks import build, suggestion
from flybench.core.errors import FlybenchError

K, VERIFY = "method.k", "method.verify."
NAMES = (K, *(VERIFY + name for name in ("kind", "rule", "theta", "window")))


def grid(recorded: MethodConfig, settings: Sequence[str]) -> tuple[list[MethodConfig], int]:
    """`recorded` with every combination of settings such as `method.k=5,10`, without repetitions,
    and how many combinations were left out since their window does not fit in their draft.

    A rule, θ or window asks for `fly` where no kind is named.

    Raises:
        FlybenchError: a setting is not of a verdict, a value is not allowed, or nothing is left.
    """
    values = dict(map(_values, _parsed(settings)))
    if values.keys() - {K} and VERIFY + "kind" not in values:
        values[VERIFY + "kind"] = ["fly"]
    combinations = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    made = [_settled(recorded, each) for each in combinations]
    fitting = [(verify, k) for verify, k in made if verify.kind == "exact" or k > verify.window]
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


def _values(override: Override) -> tuple[str, list[Any]]:
    name = str(override.key_or_group)
    if name not in NAMES:
        raise FlybenchError(
            f"{name} cannot be replayed: set any of {', '.join(NAMES)}, or latency=FILE"
            f"{suggestion(name, NAMES)}."
        )
    if not override.is_sweep_override():
        return name, [override.value()]
    return name, list(override.sweep_iterator(transformer=Transformer.identity))


def _settled(recorded: MethodConfig, values: dict[str, Any]) -> tuple[VerifyConfig, int]:
    k = build(int, values.get(K, recorded.k), K)
    own = {name.removeprefix(VERIFY): value for name, value in values.items() if name != K}
    verify = build(VerifyConfig, asdict(recorded.verify) | own, VERIFY.rstrip("."))
    # What the exact rule does not read tells no cells apart.
    return VerifyConfig() if verify.kind == "exact" else verify, k
