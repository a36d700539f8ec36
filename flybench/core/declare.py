"""Declarations of drafters, rules and tasks: a class decorator, and one `parameter` per setting.

    @verifier("top_k")
    class TopKVerifier:
        k: int = parameter(default=2, low=1, unit="ids", help="choices that count as a match")

The class becomes a dataclass whose fields are settings of `method.draft` or `method.verify`; tasks
have no settings yet. `flybench.config.declared` reads declarations from the source without
importing it, so all arguments must be literals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, dataclass_transform

Class = TypeVar("Class", bound=type)
Regime = Literal["any", "greedy", "sampled"]


def parameter(
    *,
    default: Any,
    help: str,
    unit: str = "",
    low: float | str | None = None,
    high: float | str | None = None,
    label: str = "",
    only_with: str = "",
) -> Any:
    """Declare a setting of a drafter or a rule.

    The field's annotation is its type: bool, int, float, str, or a `Literal` of allowed strings.

    Args:
        low: the smallest value, or the name of the setting that is the lower bound.
        high: the largest value, or the name of the setting that is the upper bound.
        label: a short name for tables, which then show the setting even at its default.
        only_with: the setting that must be non-zero for this one to have an effect and be shown.
    """
    metadata = {"help": help, "unit": unit, "low": low, "high": high, "label": label}
    return field(default=default, metadata=metadata | {"only_with": only_with})


@dataclass_transform(field_specifiers=(parameter,), frozen_default=True)
def verifier(
    kind: str,
    *,
    lossless: bool = False,
    trees: bool = False,
    sampling: Regime = "any",
    lookahead: str = "",
    greedy_draft: tuple[str, str] | None = None,
) -> Callable[[Class], Class]:
    """Declare a rule: `method.verify.kind=KIND` chooses it.

    Args:
        lossless: the output has the target's distribution.
        trees: drafts may be trees.
        sampling: the temperatures that the rule supports. Two classes may share a kind, one for
            greedy decoding and one for sampling.
        lookahead: the setting with the number of tokens after a mismatch that must be drafted.
        greedy_draft: a setting and the value of it that requires a greedy draft.
    """

    def declare(cls: Class) -> Class:
        made: Class = dataclass(frozen=True)(cls)  # type: ignore[assignment]
        return made

    return declare


@dataclass_transform(field_specifiers=(parameter,))
def drafter(
    kind: str, *, model: Literal["none", "draft", "head"] = "none"
) -> Callable[[Class], Class]:
    """Declare a drafter: `method.draft.kind=KIND` chooses it.

    Args:
        model: the model that it needs: none, the pair's draft model, or an EAGLE-3 head.
    """

    def declare(cls: Class) -> Class:
        made: Class = dataclass(eq=False)(cls)  # type: ignore[assignment]
        return made

    return declare


def task(kind: str, *, metrics: tuple[str, ...] = ()) -> Callable[[Class], Class]:
    """Declare a task: `task.kind=KIND` chooses it.

    Args:
        metrics: the values of `task.metric`, the main one first; empty for a single rule.
    """

    def declare(cls: Class) -> Class:
        return cls

    return declare
