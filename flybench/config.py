"""Every configuration group as a frozen dataclass, checked once, in full sentences.

Hydra composes `conf/` and the command line into a tree; `RunConfig.from_tree` turns it into these
objects and refuses what cannot work before a weight is loaded. Nothing here imports torch models.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from flybench.checks import MANY, allow, build, named, positive
from flybench.core import FlybenchError
from flybench.sampling import Sampling

DRAFT_MODEL_KINDS = ("model", "nested")
HEAD_KIND = "eagle3"
BASELINE = "ar"
LONGEST_NGRAM = 64
# The scoring rules of each kind of task, its main one first.
METRICS = {"gsm8k": ("numeric", "strict", "flexible")}


@dataclass(frozen=True)
class ModelRef:
    """One model: where it is and how to load it.

    `path` is a hub id, a folder, a .gguf file, `package:NAME` (a GGUF inside an installed package)
    or `random:ARCH[:SEED]`. `skip_layers` [first, end) leaves a run of middle layers out;
    `quantize` stores the weights of linear layers in int8, int4 (torchao) or nf4 (bitsandbytes).
    `vocab_trim` lets a draft model score that many frequent ids alone.
    `shape` names the architecture (`engine/shapes.py`), so that its cost is known without weights.
    """

    path: str
    revision: str | None = None
    dtype: str = "auto"
    device: str = "auto"
    trust_remote_code: bool = False
    skip_layers: tuple[int, int] | None = None
    quantize: str | None = None
    vocab_trim: int | None = None
    # It says what `path` already decides, so two models that differ in it alone are the same.
    shape: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.vocab_trim is not None:
            positive("model.draft.vocab_trim", self.vocab_trim)
        if self.quantize is not None:
            allow("model quantize", self.quantize, ("null", "int8", "int4", "nf4"))
            if self.path.startswith("random:"):
                raise FlybenchError(
                    f"quantize={self.quantize} for {self.path} is not allowed: only weights that "
                    "are read from a file are quantised."
                )
        allow("model dtype", self.dtype, ("auto", "fp32", "bf16", "fp16"))
        if self.skip_layers is not None and not 1 <= self.skip_layers[0] < self.skip_layers[1]:
            raise FlybenchError(
                f"skip_layers={list(self.skip_layers)} is not allowed: give [first, end) with "
                "1 <= first < end, so that the first layer stays."
            )


@dataclass(frozen=True)
class ModelConfig:
    """A draft-target pair. `gpus` is how many 80 GB cards the target needs in its dtype.

    `eagle3` is the hub id or the folder of an EAGLE-3 head for the target.
    """

    name: str
    target: ModelRef
    draft: ModelRef | None = None
    gpus: int = 0
    eagle3: str | None = None
    description: str = ""

    def __post_init__(self) -> None:
        named("model.name", self.name)
        if self.target.vocab_trim is not None:
            raise FlybenchError(
                f"model.target.vocab_trim={self.target.vocab_trim} is not allowed: a target scores "
                "every id, so set model.draft.vocab_trim."
            )


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


@dataclass(frozen=True)
class MethodConfig:
    """A drafter, a verifier and the draft length K."""

    name: str
    k: int = 0
    draft: DraftConfig = DraftConfig()
    verify: VerifyConfig = VerifyConfig()
    description: str = ""

    def __post_init__(self) -> None:
        named("method.name", self.name)
        if (self.name == BASELINE) != (self.draft.kind == "none"):
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
    def caution(self) -> str | None:
        """What a reader of such a run should know, if anything."""
        if not self.needs_head or self.verify.kind != "fly":
            return None
        return (
            f"FLy keeps a mismatch only where the next {self.verify.window} tokens of the draft "
            "match: chains of an EAGLE-3 head are seldom right for so long, so few are kept."
        )


@dataclass(frozen=True)
class TaskConfig:
    """What is asked. `path` points at local files; `chat_template` is auto, none or a file.

    For `kind: lm_eval`, `name` is lm-eval's own, `recipe` a YAML file where it is not one of
    lm-eval's, and `columns` names those of a local table without a header; columns that the table
    lacks are null.
    """

    name: str
    kind: str
    path: str | None = None
    max_new_tokens: int = 512
    chat_template: str = "auto"
    num_fewshot: int | None = None
    metric: str | None = None
    recipe: str | None = None
    columns: tuple[str, ...] | None = None
    description: str = ""

    def __post_init__(self) -> None:
        named("task.name", self.name)
        allow("task.kind", self.kind, ("demo", "gsm8k", "humaneval", "lm_eval", "mt_bench"))
        positive("task.max_new_tokens", self.max_new_tokens)
        if self.metric is not None and self.kind != "lm_eval":
            allow("task.metric", self.metric, METRICS.get(self.kind, ("null",)))
        if self.num_fewshot is not None and self.num_fewshot < 0:
            raise FlybenchError(
                f"task.num_fewshot={self.num_fewshot} is not allowed: use 0 or more."
            )
        for field_name in ("recipe", "columns"):
            if getattr(self, field_name) is not None and self.kind != "lm_eval":
                raise FlybenchError(
                    f"task.{field_name} with task.kind={self.kind} is not allowed: it is for "
                    "task=lm_eval."
                )
        if self.path == "":
            raise FlybenchError("task.path is empty: give a path, or null for the usual source.")


@dataclass(frozen=True)
class EngineConfig:
    """How models run: `auto` is graph on CUDA for models that it serves, eager otherwise.

    dtype and device `auto` follow the machine; a model may set its own. `threads` None means every
    physical core that the process may use; `tp` is the number of ranks that share the target.
    `row_invariant`, on the graph engine, gives a token the same bits whether it is read alone or in
    a draft; without it one token alone is read by faster products.
    """

    kind: str = "auto"
    dtype: str = "auto"
    device: str = "auto"
    threads: int | None = None
    tp: int = 1
    row_invariant: bool = True

    def __post_init__(self) -> None:
        positive("engine.tp", self.tp)
        if self.threads is not None:
            positive("engine.threads", self.threads)
        allow("engine.kind", self.kind, ("auto", "eager", "graph"))
        allow("engine.dtype", self.dtype, ("auto", "fp32", "bf16", "fp16"))


@dataclass(frozen=True)
class SamplingConfig:
    """Temperature 0 is greedy. A model's own sampling defaults are never applied."""

    name: str = "greedy"
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        self.rule()

    def rule(self) -> Sampling:
        """The sampling rule of these settings, which checks them."""
        return Sampling(self.temperature, self.top_k, self.top_p)


@dataclass(frozen=True)
class RunConfig:
    """One cell: a model, a method, a task, and how to measure them."""

    model: ModelConfig
    method: MethodConfig
    task: TaskConfig
    engine: EngineConfig = EngineConfig()
    sampling: SamplingConfig = SamplingConfig()
    limit: int | None = None
    offset: int = 0
    seed: int = 0
    warmup: int = 1
    retention_margin: float = 0.01
    out: str = "results"

    # What decides the tokens; the rest (limit, offset, margin, …) may change between resumes.
    KEYED: ClassVar[tuple[str, ...]] = ("model", "method", "task", "engine", "sampling", "seed")

    def __post_init__(self) -> None:
        if self.limit is not None:
            positive("limit", self.limit)
        for name, value in (("offset", self.offset), ("warmup", self.warmup)):
            if not 0 <= value < MANY:
                raise FlybenchError(
                    f"{name}={value} is not allowed: use 0 or more, below {MANY:,}."
                )
        if not 0 < self.retention_margin < 1:
            raise FlybenchError(
                f"retention_margin={self.retention_margin:g} is not allowed: use a share between "
                "0 and 1, such as 0.01 for one per cent."
            )
        if self.method.needs_draft_model and self.model.draft is None:
            raise FlybenchError(
                f"method {self.method.name} needs a draft model, and model {self.model.name} has "
                "none: add model.draft.path=… or choose method=lookup or method=ar."
            )
        if self.method.needs_head and self.model.eagle3 is None:
            raise FlybenchError(
                f"method {self.method.name} needs an EAGLE-3 head, and model {self.model.name} has "
                "none: add model.eagle3=HUB_ID_OR_FOLDER, or choose method=spd or method=lookup."
            )
        best_of_two = self.method.verify.at_temperature == "best_of_two"
        if best_of_two and self.method.needs_draft_model and self.method.draft.draw != "greedy":
            raise FlybenchError(
                "method.verify.at_temperature=best_of_two compares the target's samples with a "
                "greedy draft: add method.draft.draw=greedy."
            )

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> RunConfig:
        """Build the configuration from Hydra's resolved tree.

        Raises:
            FlybenchError: a key is unknown, a value has the wrong type or is not allowed.
        """
        return build(cls, tree, "")

    def identity(self) -> dict[str, Any]:
        """The part of the configuration that decides which tokens come out."""
        known = {name: asdict(self)[name] for name in self.KEYED}
        for ref in (known["model"]["target"], known["model"]["draft"]):
            if ref is not None:
                del ref["shape"]
        return known


def digest(value: Any) -> str:
    """A short stable hash of plain data."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
