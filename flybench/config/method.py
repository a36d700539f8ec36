"""Settings of a method: the drafter, the rule and the draft length."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType

from flybench.config.checks import named, positive
from flybench.config.component import ComponentConfig
from flybench.core.errors import FlybenchError

DRAFT_MODEL_KINDS = ("model", "nested")
BASELINE = "ar"
# AR's second pass over every sample, for runs with baseline.repeat=2.
REPEAT = "ar_again"
BASELINES = (BASELINE, REPEAT)


class DraftConfig(ComponentConfig):
    """The drafter and its settings."""

    package = "draft"
    path = "method.draft"
    ALWAYS_KEYED = MappingProxyType(
        {
            "ngram_max": 4,
            "ngram_min": 1,
            "lookup_tokens": 6,
            "draw": "sample",
            "tree_depth": 0,
            "tree_top_k": 10,
        }
    )

    @property
    def model(self) -> str:
        """The kind of model that the drafter needs: none, draft or head."""
        return str(self.option("model", "none"))

    @property
    def grows_trees(self) -> bool:
        return bool(self.get("tree_depth"))


class VerifyConfig(ComponentConfig):
    """The rule and its settings; `exact` is lossless, other kinds declare whether they are."""

    package = "verify"
    path = "method.verify"
    ALWAYS_KEYED = MappingProxyType(
        {"rule": "official", "theta": 0.3, "window": 6, "at_temperature": "native"}
    )


NO_DRAFT, EXACT = DraftConfig.of("none"), VerifyConfig.of("exact")


@dataclass(frozen=True)
class MethodConfig:
    """A drafter, a verifier and the draft length K."""

    name: str
    k: int = 0
    draft: DraftConfig = NO_DRAFT
    verify: VerifyConfig = EXACT
    description: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        named("method.name", self.name)
        if (self.name in BASELINES) != (self.draft.kind == "none"):
            raise FlybenchError(
                f"method.name={self.name} with method.draft.kind={self.draft.kind} is not allowed: "
                f"use the name {BASELINE} for the method without a drafter, and only for it."
            )
        if self.draft.kind == "none":
            if self.k or self.verify.kind != "exact":
                raise FlybenchError(
                    f"method {self.name} has no drafter, so method.k={self.k} must be 0 and "
                    f"method.verify.kind={self.verify.kind} must be exact: "
                    "remove the override, or choose a method with a drafter, such as spd or fly."
                )
            return
        positive("method.k", self.k)
        if self.draft.grows_trees:
            self._check_tree()
        self._check_lookahead()

    def _check_tree(self) -> None:
        depth, top_k = self.draft["tree_depth"], self.draft["tree_top_k"]
        grown = top_k + depth * top_k**2
        if self.k > grown:
            raise FlybenchError(
                f"method.k={self.k} exceeds the {grown} nodes of a tree with tree_depth={depth} "
                f"and tree_top_k={top_k}: lower method.k, or raise one of the others."
            )
        if not all(each.option("trees", False) for each in self.verify.declared):
            raise FlybenchError(
                f"method.verify.kind={self.verify.kind} does not support trees: use kind=exact, or "
                "draft a chain with method.draft.tree_depth=0."
            )

    def _check_lookahead(self) -> None:
        name = self.verify.option("lookahead", "")
        if name and self.k <= self.verify[name]:
            raise FlybenchError(
                f"method.k={self.k} with method.verify.{name}={self.verify[name]} can never accept "
                f"a mismatch, because the {name} must fit in the draft after it: set method.k to "
                f"at least {self.verify[name] + 1}, or use a smaller {name}."
            )

    @property
    def needs_draft_model(self) -> bool:
        return self.draft.model == "draft"

    @property
    def needs_head(self) -> bool:
        return self.draft.model == "head"

    @property
    def settings(self) -> str:
        """K and the settings of the rule and the drafter, for a table; empty for AR."""
        k = f"k={self.k}" if self.k else ""
        return " ".join(filter(None, (k, self.verify.shown(), self.draft.shown())))

    @property
    def caution(self) -> str | None:
        """A warning about this combination of settings, or None."""
        if not self.needs_head or self.verify.kind != "fly":
            return None
        return (
            f"FLy accepts a mismatch only if the next {self.verify['window']} draft tokens match. "
            "Chains from an EAGLE-3 head rarely match for that long, so expect few loosely "
            "accepted tokens."
        )
