"""The cells of a grid: a recorded method at every combination of the given settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from flybench.config import MethodConfig, VerifyConfig
from flybench.config.checks import build, suggestion
from flybench.config.declared import FILE, declarations, parameters
from flybench.config.overrides import Override
from flybench.core.errors import FlybenchError

K, VERIFY = "method.k", "method.verify."


def grid(recorded: MethodConfig, settings: Sequence[str]) -> tuple[list[MethodConfig], int]:
    """Return `recorded` at every distinct combination of settings such as `method.k=5,10`.

    The second value is the number of combinations left out because their window does not fit in
    their draft. If no kind of rule is given and the recorded rule lacks a setting, the kind is
    `fly`.

    Raises:
        FlybenchError: a setting cannot be replayed, a value is not allowed, or no combination is
            left.
    """
    from flybench.config.trees import swept_values  # Hydra takes most of a second to import

    check_settings(recorded, settings)
    values = swept_values(settings)
    given = {name.removeprefix(VERIFY) for name in values.keys() - {K}}
    own = dict(recorded.verify.values).keys()
    if given - {"kind"} and "kind" not in given and not given <= own:
        values[VERIFY + "kind"] = ["fly"]
    combinations = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    made = [_settled(recorded, each) for each in combinations]
    for verify, _ in made:
        check_replayable(verify)
    fitting = [(verify, k) for verify, k in made if k > _lookahead(verify)]
    chosen = dict.fromkeys(fitting or made)  # if none fits, the method raises the error
    cells = [replace(recorded, verify=verify, k=k) for verify, k in chosen]
    return cells, len(made) - len(fitting)


def check_settings(recorded: MethodConfig, settings: Sequence[str]) -> None:
    """Check that a replay can vary these settings.

    Raises:
        FlybenchError: a setting is neither K nor a parameter of a built-in rule or of the rule that
            the run used.
    """
    rules = {name for name, _ in recorded.verify.values} | parameters("verify")
    kinds = [word.value for word in map(Override.parse, settings) if word.key == VERIFY + "kind"]
    for kind in ",".join(map(str, kinds)).split(","):
        if kind.startswith(FILE):
            rules |= declarations("verify", kind)[0].parameters.keys()
    known = [K, VERIFY + "kind", *(VERIFY + each for each in sorted(rules - {"at_temperature"}))]
    for name in (Override.parse(word).key for word in settings):
        if name not in known:
            raise FlybenchError(
                f"{name} cannot be replayed: set any of {', '.join(known)}, or latency=FILE"
                f"{suggestion(name, known)}."
            )


def check_replayable(verify: VerifyConfig) -> None:
    """Check that the outcomes of a rule can be computed from recorded traces.

    Raises:
        FlybenchError: the rule is not lossless and has no method `replay`.
    """
    declared = verify.declaration(greedy=True)
    if not declared.option("lossless", False) and "replay" not in declared.methods:
        raise FlybenchError(
            f"method.verify.kind={verify.kind} cannot be replayed, because {declared.class_name} "
            "has no method `replay`: decode it with `flybench run`, or add the method "
            "(flybench/verify/fly.py has one)."
        )


def _lookahead(verify: VerifyConfig) -> int:
    return int(verify.get(verify.declaration(greedy=True).option("lookahead", ""), -1))


def _settled(recorded: MethodConfig, values: dict[str, Any]) -> tuple[VerifyConfig, int]:
    k = build(int, values.get(K, recorded.k), K)
    own = {name.removeprefix(VERIFY): value for name, value in values.items() if name != K}
    verify = VerifyConfig.from_tree(recorded.verify.tree() | own)
    return verify, k
