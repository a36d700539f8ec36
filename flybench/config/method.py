"""Who drafts, who decides, and how long drafts are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from flybench.config.checks import allow, named, positive
from flybench.core.errors import FlybenchError

DRAFT_MODEL_KINDS = ("model", "nested")
HEAD_KIND = "eagle3"
BASELINE = "ar"
# Its second turn at every sample, where a run asks for one.
REPEAT = "ar_again"
BASELINES = (BASELINE, REPEAT)
LONGEST_NGRAM = 64


@dataclass(frozen=True)
class DraftConfig:
    """Who proposes. `draw` says how a draft model picks its tokens when the target samples.

    With a `tree_depth`, EAGLE-3 expands the `tree_top_k` best nodes of so many levels after the
    root's own, and proposes the best `k` nodes of all; with 0 it proposes a chain.
    """

    kind: str = "none"
    ngram_max: int = 4
    ngram_min: int = 1
    lookup_tokens: int = 6
    draw: str = "sample"
    tree_depth: int = 0
    tree_top_k: int = 10

    def __post_init__(self) -> None:
        allow("method.draft.kind", self.kind, ("none", "lookup", *DRAFT_MODEL_KINDS, HEAD_KIND))
        positive("method.draft.tree_top_k", self.tree_top_k)
        if self.tree_depth < 0 or (self.tree_depth and self.kind != HEAD_KIND):
            raise FlybenchError(
                f"method.draft.tree_depth={self.tree_depth} with method.draft.kind={self.kind} is "
                f"not allowed: use 0 for a chain; only kind={HEAD_KIND} grows trees."
            )
        allow("method.draft.draw", self.draw, ("sample", "greedy"))
        positive("method.draft.lookup_tokens", self.lookup_tokens)
        if not 1 <= self.ngram_min <= self.ngram_max <= LONGEST_NGRAM:
            raise FlybenchError(
                f"method.draft.ngram_min={self.ngram_min} with ngram_max={self.ngram_max} is not "
                f"allowed: choose 1 <= ngram_min <= ngram_max <= {LONGEST_NGRAM}."
            )


@dataclass(frozen=True)
class VerifyConfig:
    """Who decides: `exact` (lossless) or `fly` with its rule, gate θ and window W."""

    kind: str = "exact"
    rule: str = "official"
    theta: float = 0.3
    window: int = 6
    at_temperature: str = "native"

    def __post_init__(self) -> None:
        allow("method.verify.kind", self.kind, ("exact", "fly"))
        allow("method.verify.rule", self.rule, ("official", "paper", "vllm"))
        allow("method.verify.at_temperature", self.at_temperature, ("native", "best_of_two"))
        if math.isnan(self.theta) or self.theta < 0:
            raise FlybenchError(
                f"method.verify.theta={self.theta:g} is not allowed: use 0 (no gate) or more; "
                "inf makes the rule exact."
            )
        if self.window < 0:
            raise FlybenchError(
                f"method.verify.window={self.window} is not allowed: use 0 (no window) or more."
            )
        if self.kind == "exact":  # it reads none of these, so cells that differ in them are one
            for name in ("rule", "theta", "window"):
                object.__setattr__(self, name, getattr(VerifyConfig, name))


@dataclass(frozen=True)
class MethodConfig:
    """A drafter, a verifier and the draft length K."""

    name: str
    k: int = 0
    draft: DraftConfig = DraftConfig()
    verify: VerifyConfig = VerifyConfig()
    description: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        named("method.name", self.name)
        if (self.name in BASELINES) != (self.draft.kind == "none"):
            raise FlybenchError(
                f"method.name={self.name} with method.draft.kind={self.draft.kind} is not allowed: "
                f"{BASELINE} names the method without a drafter, and no other."
            )
        if self.draft.kind == "none":
            if self.k or self.verify.kind != "exact":
                raise FlybenchError(
                    f"method {self.name} has no drafter, so method.k={self.k} must be 0 and "
                    f"method.verify.kind={self.verify.kind} must be exact: "
                    "remove the override or choose a method that drafts, such as spd or fly."
                )
            return
        positive("method.k", self.k)
        if self.draft.tree_depth:
            self._check_tree()
        if self.verify.kind == "fly" and self.k <= self.verify.window:
            raise FlybenchError(
                f"method.k={self.k} with method.verify.window={self.verify.window} can never keep "
                "a mismatch, because the window must fit in the draft after it: set method.k to "
                f"at least {self.verify.window + 1} or make the window smaller."
            )

    def _check_tree(self) -> None:
        depth, top_k = self.draft.tree_depth, self.draft.tree_top_k
        grown = top_k + depth * top_k**2
        if self.k > grown:
            raise FlybenchError(
                f"method.k={self.k} is more than the {grown} nodes that a tree of tree_depth="
                f"{depth} and tree_top_k={top_k} grows: lower method.k or grow more."
            )
        if self.verify.kind != "exact":
            raise FlybenchError(
                f"method.verify.kind={self.verify.kind} on a tree is not allowed: its window asks "
                "for the tokens that follow a mismatch, and a tree's nodes are no draws from the "
                "draft, so use kind=exact, or a chain (method.draft.tree_depth=0)."
            )

    @property
    def needs_draft_model(self) -> bool:
        return self.draft.kind in DRAFT_MODEL_KINDS

    @property
    def needs_head(self) -> bool:
        return self.draft.kind == HEAD_KIND

    @property
    def settings(self) -> str:
        """What the paper calls K, θ and W, and a tree's shape; empty for AR."""
        told = [f"k={self.k}"] if self.k else []
        if self.verify.kind == "fly":
            told += [f"theta={self.verify.theta:g}", f"window={self.verify.window}"]
        if self.draft.tree_depth:
            told += [f"depth={self.draft.tree_depth}", f"top_k={self.draft.tree_top_k}"]
        return " ".join(told)

    @property
    def caution(self) -> str | None:
        """What a reader of such a run should know, if anything."""
        if not self.needs_head or self.verify.kind != "fly":
            return None
        return (
            f"FLy keeps a mismatch only where the next {self.verify.window} tokens of the draft "
            "match: chains of an EAGLE-3 head are seldom right for so long, so few are kept."
        )
