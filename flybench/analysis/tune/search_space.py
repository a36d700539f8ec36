"""The grid of a tuning, and the effort for confirmation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from flybench.config import DRAFT_MODEL_KINDS, EXACT, DraftConfig, MethodConfig, VerifyConfig
from flybench.config.checks import positive
from flybench.core.errors import FlybenchError

MAX_LOOKS = 10
# Names of a drafter's methods with the exact rule and with a loose one.
NAMES = {"model": ("spd", "fly_no_lookup"), "nested": ("spd_lookup", "fly")}


@dataclass(frozen=True)
class TuneSettings:
    """The grid and the effort: `confirm` loose settings are run, and tested at `looks` sizes.

    `lookup` is whether a draft model is itself sped up by lookup. Other drafters ignore it.
    """

    rule: tuple[str, ...] = ("official", "vllm", "paper")
    theta: tuple[float, ...] = (0.1, 0.2, 0.3, 0.45, 0.6)
    window: tuple[int, ...] = (2, 4, 6)
    k: tuple[int, ...] = (4, 8, 12, 15)
    lookup: tuple[bool, ...] = (False, True)
    confirm: int = 3
    looks: int = 3

    def __post_init__(self) -> None:
        for name in ("rule", "theta", "window", "k", "lookup"):
            if not getattr(self, name):
                raise FlybenchError(f"tune.{name} is empty: set at least one value.")
        for k in self.k:
            positive("tune.k", k)
        positive("tune.confirm", self.confirm)
        if not 1 <= self.looks <= MAX_LOOKS:
            raise FlybenchError(
                f"tune.looks={self.looks} is not allowed: use 1 to {MAX_LOOKS}, because every look "
                "makes the intervals wider."
            )
        if not any(k > window for k, window in product(self.k, self.window)):
            raise FlybenchError(
                f"no tune.k={_listed(self.k)} exceeds any tune.window={_listed(self.window)}, but "
                "the window must fit in the draft after a mismatch: raise tune.k or lower "
                "tune.window."
            )

    def drafters(self, base: MethodConfig) -> list[MethodConfig]:
        """Return the exact rule on the longest drafts, one method for each drafter.

        Raises:
            FlybenchError: `base` drafts with an EAGLE-3 head, or not at all.
        """
        if base.draft.kind not in ("lookup", *DRAFT_MODEL_KINDS):
            raise FlybenchError(
                f"method={base.name} cannot be tuned, because its drafter is {base.draft.kind}: "
                "choose method=fly, or another method that drafts with a draft model or lookup."
            )
        drafts = [base.draft]
        if base.needs_draft_model:
            kinds = ["nested" if each else "model" for each in dict.fromkeys(self.lookup)]
            drafts = [DraftConfig.from_tree(base.draft.tree() | {"kind": kind}) for kind in kinds]
        return [method_of(draft, EXACT, max(self.k)) for draft in drafts]

    def grid(self, base: MethodConfig) -> list[MethodConfig]:
        """Return the methods to replay: the exact rule and all loose ones that fit in K."""
        drafts = [method.draft for method in self.drafters(base)]
        verdicts = [EXACT, *self._loose()]
        return [
            method_of(draft, verify, k)
            for draft, verify, k in product(drafts, verdicts, dict.fromkeys(self.k))
            if verify == EXACT or k > verify["window"]
        ]

    def _loose(self) -> Iterator[VerifyConfig]:
        for rule, theta, window in product(self.rule, self.theta, self.window):
            yield VerifyConfig.of("fly", rule=rule, theta=theta, window=window)


def method_of(draft: DraftConfig, verify: VerifyConfig, k: int) -> MethodConfig:
    """Return a method, named after its drafter and rule."""
    exact, loose = NAMES.get(draft.kind, (draft.kind, f"fly_{draft.kind}"))
    return MethodConfig(exact if verify == EXACT else loose, k, draft, verify)


def describe_method(method: MethodConfig) -> str:
    """Return the name and settings of a method, such as `spd (exact rule, k=8)`."""
    verify = method.verify
    if verify.kind != "fly":
        return f"{method.name} (exact rule, k={method.k})"
    gate = f"theta={verify['theta']:g} window={verify['window']}"
    return f"{method.name} ({verify['rule']} rule, k={method.k} {gate})"


def _listed(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))
