"""The models of a run with their engine and chat template, before any weight is loaded."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple

import torch

from flybench.config import EngineConfig, MethodConfig, RunConfig, digest
from flybench.core.errors import FlybenchError
from flybench.core.samples import Prompt
from flybench.engine.eagle3.checkpoint import HeadSource, find_head
from flybench.engine.graph.model import MAX_PASS_TOKENS
from flybench.engine.loading.description import DescribePair, ModelInfo, describe_pair
from flybench.engine.loading.placement import choose_engine, resolve_device, resolve_dtype
from flybench.tasks.chat import Chat

# Upper bound of what a chat template puts around one question and one answer.
FRAME_TOKENS = 64


class Weights(NamedTuple):
    """Hashes of the weights of a run: the target on its engine, and the drafter, if any."""

    target: str
    drafter: str | None

    def includes(self, others: Weights) -> bool:
        """Return True if a plan that needs `others` can run on these."""
        return self.target == others.target and others.drafter in (self.drafter, None)


@dataclass(frozen=True)
class ModelSetup:
    """Located models that are compatible with each other.

    `engine` is the chosen engine; `engine_note` is a reason if it is not the one `auto` prefers.
    """

    config: RunConfig
    device: torch.device
    chat: Chat
    target: ModelInfo
    draft: ModelInfo | None
    head: HeadSource | None
    vocab_size: int
    engine: EngineConfig
    engine_note: str | None

    @property
    def infos(self) -> list[ModelInfo]:
        """Models to load, the target first."""
        return [info for info in (self.target, self.draft) if info is not None]

    @property
    def weights(self) -> Weights:
        """Hashes of the weights to load."""
        settings = [self.vocab_size, asdict(self.engine), str(self.device)]
        target, *draft = [(asdict(info.ref), info.files) for info in self.infos]
        drafter = draft or self.head and self.head.files
        return Weights(digest([target, settings]), digest(drafter) if drafter else None)

    def prompt_sha256(self, prompt: Prompt) -> str:
        """Return the hash of a sample: rendered first turn, follow-ups, length limit, stops."""
        text = self.chat.render(prompt.messages)
        return digest([text, prompt.followups, prompt.max_new_tokens, prompt.stop])

    def reach(self, prompt: Prompt, prompt_tokens: int) -> int:
        """Return the maximum length of a sample in tokens: all turns, their frames and a draft."""
        later = sum(len(self.chat.encode(asked)) + FRAME_TOKENS for asked in prompt.followups)
        answers = (1 + len(prompt.followups)) * prompt.max_new_tokens
        return prompt_tokens + later + answers + self.config.method.k + 1

    @property
    def room(self) -> int:
        """The number of positions in both contexts for a prompt and its answer, minus one draft."""
        infos = [info for info in (self.target, self.draft) if info is not None]
        return min(info.context_limit for info in infos) - self.config.method.k

    def check_length(self, prompt_tokens: int, prompt: Prompt) -> None:
        """Check that a prompt fits in both contexts with its answer and one draft.

        Raises:
            FlybenchError: it does not fit.
        """
        needed = prompt_tokens + prompt.max_new_tokens + self.config.method.k
        for role, info in (("target", self.target), ("draft", self.draft)):
            if info is not None and needed > info.context_limit:
                raise FlybenchError(
                    f"sample {prompt.sample_id} needs {needed} tokens (prompt {prompt_tokens}, "
                    f"answer {prompt.max_new_tokens}, draft {self.config.method.k}), but the "
                    f"context length of the {role} is {info.context_limit}: lower "
                    "task.max_new_tokens (max_gen_toks in lm-eval) or method.k, or choose a model "
                    "with a longer context."
                )


def choose_models(config: RunConfig, describe: DescribePair = describe_pair) -> ModelSetup:
    """Find and describe the models of a run, and choose the engine.

    Raises:
        FlybenchError: a device or a model is missing, or they cannot work together.
    """
    device = check_devices(config)
    target, draft, vocab_size = describe(config.model, config.method.needs_draft_model)
    chat = Chat(target.tokenizer, config.task.chat_template)
    head = None
    if config.method.needs_head and config.model.eagle3 is not None:
        head = find_head(config.model.eagle3)
    infos = [info for info in (target, draft) if info is not None]
    tree = config.method.draft.grows_trees
    engine, engine_note = choose_engine(config.engine, infos, device, tree)
    for info in infos:
        resolve_dtype(info, engine)
    check_width(engine, config.method)
    return ModelSetup(config, device, chat, target, draft, head, vocab_size, engine, engine_note)


def check_width(engine: EngineConfig, method: MethodConfig) -> None:
    """Check that passes are not wider than the graph engine supports.

    Raises:
        FlybenchError: they are too wide.
    """
    looked_up = method.draft.get("lookup_tokens", 0)
    if engine.kind == "graph" and max(method.k + 1, looked_up + 2) > MAX_PASS_TOKENS:
        raise FlybenchError(
            f"method.k={method.k} with method.draft.lookup_tokens={looked_up} needs passes too "
            f"wide for engine=graph, which supports {MAX_PASS_TOKENS} tokens per pass: lower the "
            "larger one, or use engine=eager."
        )


def check_devices(config: RunConfig) -> torch.device:
    """Return the device of the target.

    Raises:
        FlybenchError: a device does not exist, or the pair needs more GPUs than there are.
    """
    gpus = torch.cuda.device_count()
    wanted = config.model.target.device
    name = config.engine.device if wanted in ("auto", "balanced") else wanted
    if config.model.gpus > gpus and name == "auto":
        raise FlybenchError(
            f"model {config.model.name} needs {config.model.gpus} GPU(s) with 80 GB each, but this "
            f"machine has {gpus}: choose a smaller model (`flybench list models`), or set "
            "engine.device=cpu to load it anyway."
        )
    if config.model.draft is not None and config.model.draft.device != "auto":
        resolve_device(config.model.draft.device)
    return resolve_device(name)
