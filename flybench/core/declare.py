"""Declaring a drafter, a rule or a task: one decorator on its class, one `parameter` a setting.

    @verifier("top_k")
    class TopKVerifier:
        k: int = parameter(default=2, low=1, unit="ids", help="choices that count as right")

The class becomes a dataclass whose fields are settings of `method.verify`, `method.draft`, or for a
task nothing yet. The configuration reads these declarations from the source, without importing it
(`flybench.config.declared`), so that their arguments must be literals.
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
    """A setting of a drafter or a rule, whose type is the field's: bool, int, float, str, or a
    `Literal` of the words that are allowed.

    `low` and `high` are the least and greatest value, or the name of the setting that bounds it;
    with a `label`, tables show the setting even at its default. `only_with` names the setting
    without which (at 0) this one has no effect and is not shown.
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
        lossless: the output is the target's own, in distribution.
        trees: drafts may be trees.
        sampling: the temperatures that the rule covers. Two classes may share a kind, one for
            greedy decoding and one for sampling.
        lookahead: the setting that says how many tokens after a mismatch must be in the draft.
        greedy_draft: a setting and its value with which the draft must be drawn greedily.
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
        model: the model that it drafts with: none, the pair's draft model, or an EAGLE-3 head.
    """

    def declare(cls: Class) -> Class:
        made: Class = dataclass(eq=False)(cls)  # type: ignore[assignment]
        return made

    return declare


def task(kind: str, *, metrics: tuple[str, ...] = ()) -> Callable[[Class], Class]:
    """Declare a task: `task.kind=KIND` chooses it.

    Args:
        metrics: the values of `task.metric`, the main one first; none if it has one rule.
    """

    def declare(cls: Class) -> Class:
        return cls

    return declare
