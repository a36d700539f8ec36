"""Small stand-ins that tests share: random models, table models, scripted and watched drafters."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from types import SimpleNamespace
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import LlamaConfig, PreTrainedModel

from flybench.core.drafts import Draft, TargetView
from flybench.core.verdicts import Decision
from flybench.draft.base import Drafter, DraftSetup
from flybench.engine.base import CachedModel, DraftPass, ReadPass
from flybench.engine.eager.model import EagerModel, EagerTarget, draft_by_steps, read_once
from flybench.engine.eagle3.head import Eagle3Head, HeadConfig
from flybench.engine.eagle3.model import HeadModel
from flybench.engine.graph.model import GraphModel
from flybench.engine.graph.target import GraphTarget
from flybench.engine.loading.random_models import byte_tokenizer, random_model
from flybench.sampling import Sampling

ANSWER_TOKENS = 120  # of plain answers that others are compared with
VOCAB = len(byte_tokenizer())


@cache
def model(recipe: str) -> PreTrainedModel:
    """A random model, built once; nobody may change it."""
    return random_model(recipe)


@cache
def near_model(recipe: str, noise: float = 0.01) -> PreTrainedModel:
    """The model of `recipe` with every matrix a little off: a draft that is right now and then."""
    other = random_model(recipe)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in other.parameters():
            if weight.dim() > 1:
                weight += torch.randn(weight.shape, generator=generator) * weight.std() * noise
    return other


def eager(recipe: str) -> EagerModel:
    return EagerModel(model(recipe), VOCAB)


def eager_target(recipe: str, taps: Sequence[int]) -> EagerTarget:
    return EagerTarget(EagerModel(copy.deepcopy(model(recipe)), VOCAB, taps))


def graph_target(recipe: str, taps: Sequence[int]) -> GraphTarget:
    return GraphTarget(GraphModel(copy.deepcopy(model(recipe)), VOCAB, 512, taps=taps))


def head(recipe: str, draft_vocab_size: int | None = 60, **options: bool) -> Eagle3Head:
    """A random EAGLE-3 head for `model(recipe)`, with every option off that is not named."""
    target = model(recipe)
    config = target.config
    layer = LlamaConfig(
        hidden_size=config.hidden_size,
        intermediate_size=48,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=1024,
    )
    sizes = (config.hidden_size, config.vocab_size, draft_vocab_size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        made = Eagle3Head(HeadConfig(layer, *sizes, (1, 2, 3), **options))
        for weight in made.parameters():
            weight.data.normal_(0, 0.3) if weight.dim() > 1 else weight.data.uniform_(0.5, 1.5)
        ids = torch.randperm(config.vocab_size)[: made.d2t.shape[0]].sort().values
    made.d2t.copy_(ids - torch.arange(len(ids)))
    made.t2d.fill_(False).index_fill_(0, ids, True)
    made.embed_tokens.weight = target.get_input_embeddings().weight
    if draft_vocab_size is None:
        made.lm_head.weight = target.get_output_embeddings().weight
    return made.requires_grad_(False)


def near(recipe: str) -> EagerModel:
    return EagerModel(near_model(recipe), VOCAB)


def graph(recipe: str, slots: int = 512) -> GraphModel:
    return GraphModel(copy.deepcopy(model(recipe)), VOCAB, slots)


def graph_near(recipe: str, slots: int = 512) -> GraphModel:
    return GraphModel(copy.deepcopy(near_model(recipe)), VOCAB, slots)


class TableModel:
    """A `CachedModel` whose logits depend on the last token alone: `table` [V, V]."""

    device = torch.device("cpu")
    taps = SimpleNamespace(latest=())

    def __init__(self, table: Tensor) -> None:
        self.table = table
        self.vocab_size = table.shape[-1]
        self.passes = 0
        self.reset()

    @property
    def length(self) -> int:
        return len(self.text)

    def reset(self) -> None:
        self.text: list[int] = []

    def ids(self, ids: Sequence[int]) -> Tensor:
        return torch.tensor(ids, dtype=torch.long)

    def prefill(self, ids: Sequence[int]) -> None:
        self.reset()
        self.extend(self.ids(ids), rows=0)

    def prompt_taps(self) -> None:
        return None

    def extend(self, ids: Tensor, rows: int, ancestors: Tensor | None = None) -> Tensor:
        self.passes += 1
        self.text += ids.tolist()
        return self.table[ids][len(ids) - rows :]

    def keep(self, start: int, tokens: Sequence[int]) -> None:
        self.text[start:] = [self.text[start + token] for token in tokens]

    def drafting(self, count: int, sampling: Sampling) -> DraftPass:
        return partial(draft_by_steps, self, count, sampling)

    def reading(self, widest: int, sampling: Sampling) -> ReadPass:
        return partial(read_once, self, sampling)

    def rollback(self, length: int) -> None:
        del self.text[length:]


class ScriptedDrafter:
    """Proposes whatever `script(context, limit)` says, and keeps no state."""

    def __init__(self, script: Callable[[Sequence[int], int], list[int]]) -> None:
        self._script = script

    def start(
        self, prompt_ids: Sequence[int], taps: Tensor | None, generator: torch.Generator | None
    ) -> None:
        pass

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        return Draft.chain(torch.tensor(self._script(context, limit), dtype=torch.long))

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        pass


class WatchedDrafter:
    """Passes everything on to `inner`; calls `check(committed length)` at the end of each round."""

    def __init__(self, inner: Drafter, check: Callable[[int], None]) -> None:
        self._inner = inner
        self._check = check

    def start(
        self, prompt_ids: Sequence[int], taps: Tensor | None, generator: torch.Generator | None
    ) -> None:
        self._inner.start(prompt_ids, taps, generator)

    def propose(self, context: Sequence[int], limit: int) -> Draft:
        self.context = list(context)
        return self._inner.propose(context, limit)

    def observe(self, draft: Draft, view: TargetView, decision: Decision) -> None:
        self._inner.observe(draft, view, decision)
        self._check(len(self.context) + len(decision.tokens))


def assert_one_sentence(error: BaseException, *parts: str) -> None:
    """The error's text is one line and one sentence, and holds each of `parts`."""
    text = str(error)
    assert text.endswith("."), f"no full stop at the end of: {text}"
    assert "\n" not in text, f"more than one line: {text}"
    assert not re.search(r"[.!?] [A-Z]", text), f"more than one sentence: {text}"
    for part in parts:
        assert part in text, f"{part!r} is missing in: {text}"


class TreeShape(NamedTuple):
    """Drafts of `nodes` tokens: a chain, or with a `depth` a tree that expands `top_k` a level."""

    nodes: int
    depth: int = 0
    top_k: int = 10

    @property
    def settings(self) -> dict[str, int]:
        return {"tree_depth": self.depth, "tree_top_k": self.top_k}


def head_setup(model: HeadModel, shape: TreeShape) -> DraftSetup:
    """The arguments of an EAGLE-3 drafter."""
    return DraftSetup(model.device, shape.nodes, Sampling(), model)


def draft_setup(model: CachedModel, sampling: Sampling, k: int = 8) -> DraftSetup:
    """What a drafter with a draft model works with."""
    return DraftSetup(model.device, k, sampling, model)
