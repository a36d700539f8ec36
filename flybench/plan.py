"""What is decided before a weight is loaded: data, prompts, limits, and the run's folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

from flybench.config import EngineConfig, MethodConfig, RunConfig, digest
from flybench.core import FlybenchError, Prompt
from flybench.engine.description import ModelInfo, describe_pair
from flybench.engine.eagle3.checkpoint import HeadSource, find_head
from flybench.engine.graph.model import WIDEST
from flybench.engine.placement import choose_engine, resolve_device, resolve_dtype
from flybench.judge import check_judge
from flybench.methods import AR, AR_AGAIN
from flybench.records import RunFolder
from flybench.tasks import build_task
from flybench.tasks.base import Task
from flybench.tasks.chat import Chat

# What a chat template puts around one question and one answer, generously.
FRAME_TOKENS = 64


class Weights(NamedTuple):
    """Hashes of what a plan has in memory: a target on its engine, and what drafts, if anything."""

    target: str
    drafter: str | None

    def serve(self, others: Weights) -> bool:
        """Whether a plan that wants `others` can run on these."""
        return self.target == others.target and others.drafter in (self.drafter, None)


@dataclass(frozen=True)
class Plan:
    """A run that was checked. `key` hashes everything that decides its tokens, `family` all of it
    but the seed.

    `engine` is the one that runs, `engine_note` why it is not the one that `auto` prefers, and
    `max_length` the longest text in tokens that any sample can reach.
    """

    config: RunConfig
    folder: RunFolder
    key: str
    family: str
    device: torch.device
    task: Task
    prompts: Sequence[Prompt]
    chat: Chat
    target: ModelInfo
    draft: ModelInfo | None
    head: HeadSource | None
    vocab_size: int
    engine: EngineConfig
    engine_note: str | None
    max_length: int

    @property
    def infos(self) -> list[ModelInfo]:
        """The models that are loaded, the target first."""
        return [info for info in (self.target, self.draft) if info is not None]

    @property
    def cautions(self) -> list[str]:
        """What a reader of the run's figures should know of how they come about."""
        head = self.head.caution(self.max_length) if self.head else None
        return [note for note in (self.engine_note, self.config.method.caution, head) if note]

    @property
    def label(self) -> str:
        return " ".join([self.config.model.name, self.config.method.name, self.config.task.name])

    @property
    def methods(self) -> list[MethodConfig]:
        """AR, the method unless that is AR, and AR again where the run asks for it."""
        own = [self.config.method] if self.config.method.draft.kind != "none" else []
        return [AR, *own, *[AR_AGAIN] * (self.config.baseline.repeat - 1)]

    @property
    def weights(self) -> Weights:
        """What must be in memory."""
        settings = [self.vocab_size, asdict(self.engine), str(self.device)]
        target, *draft = [(asdict(info.ref), info.files) for info in self.infos]
        drafter = draft or self.head and self.head.files
        return Weights(digest([target, settings]), digest(drafter) if drafter else None)

    def beside(self, other: Plan) -> bool:
        """Whether the two differ in their method alone, so that one AR serves both."""
        same = replace(self.config, method=AR) == replace(other.config, method=AR)
        ours, theirs = self.weights, other.weights
        return same and (ours.serve(theirs) or theirs.serve(ours))

    def prompt_sha256(self, prompt: Prompt) -> str:
        """Hash of a sample as the model sees it: rendered first turn, follow-ups, cap, stops."""
        text = self.chat.render(prompt.messages)
        return digest([text, prompt.followups, prompt.max_new_tokens, prompt.stop])

    def check_length(self, prompt_tokens: int, prompt: Prompt) -> None:
        """Refuse a prompt that does not fit in both contexts with its answer and one draft.

        Raises:
            FlybenchError: it does not.
        """
        needed = prompt_tokens + prompt.max_new_tokens + self.config.method.k
        for role, info in (("target", self.target), ("draft", self.draft)):
            if info is not None and needed > info.context_limit:
                raise FlybenchError(
                    f"sample {prompt.sample_id} needs {needed} positions ({prompt_tokens} of "
                    f"prompt, {prompt.max_new_tokens} of answer, {self.config.method.k} of draft) "
                    f"and the {role} has {info.context_limit}: lower task.max_new_tokens or "
                    "method.k, or choose a model with a longer context."
                )


def make_plan(config: RunConfig) -> Plan:
    """Check a run without changing anything.

    Raises:
        FlybenchError: something that would make the run fail is known beforehand.
    """
    device = check_devices(config)
    task = build_task(config.task)
    check_judge(config, task)
    target, draft, vocab_size = describe_pair(config.model, config.method.needs_draft_model)
    chat = Chat(target.tokenizer, config.task.chat_template)
    count = None if config.limit is None else config.offset + config.limit
    prompts = task.prompts(count)[config.offset :]
    if not prompts:
        raise FlybenchError(
            f"offset={config.offset} leaves no sample of task {config.task.name}, which has "
            f"{len(task.prompts())}: lower the offset, or check that its data are not empty."
        )
    head = None
    if config.method.needs_head and config.model.eagle3 is not None:
        head = find_head(config.model.eagle3)
    infos = [info for info in (target, draft) if info is not None]
    tree = config.method.draft.tree_depth > 0
    engine, engine_note = choose_engine(config.engine, infos, device, tree)
    for info in infos:
        resolve_dtype(info, engine)
    check_width(engine, config.method)
    identity = config.identity() | {
        "engine": asdict(engine),
        "files": [info.files for info in infos] + ([head.files] if head else []),
        "eos_ids": sorted(target.eos_ids),
        "vocab_size": vocab_size,
        "data": task.data_sha256,
        "template": chat.identity,
        "device": device.type,
    }
    key = digest(identity)
    name = "-".join([config.model.name, config.method.name, config.task.name, key[:8]])
    lengths = [len(chat.encode(chat.render(prompt.messages))) for prompt in prompts]
    plan = Plan(
        config=config,
        folder=RunFolder(Path(config.out).expanduser() / name),
        key=key,
        family=digest({**identity, "seed": None}),
        device=device,
        task=task,
        prompts=prompts,
        chat=chat,
        target=target,
        draft=draft,
        head=head,
        vocab_size=vocab_size,
        engine=engine,
        engine_note=engine_note,
        max_length=max(map(partial(_reach, config, chat), prompts, lengths)),
    )
    # One long prompt costs one sample; settings that no prompt can meet cost nothing but this line.
    shortest = min(range(len(prompts)), key=lengths.__getitem__)
    plan.check_length(lengths[shortest], prompts[shortest])
    return plan


def _reach(config: RunConfig, chat: Chat, prompt: Prompt, prompt_tokens: int) -> int:
    """Tokens of a sample's last turn at most: all turns, their frames and a draft."""
    later = sum(len(chat.encode(question)) + FRAME_TOKENS for question in prompt.followups)
    answers = (1 + len(prompt.followups)) * prompt.max_new_tokens
    return prompt_tokens + later + answers + config.method.k + 1


def check_width(engine: EngineConfig, method: MethodConfig) -> None:
    """Refuse passes that are wider than the graph engine's.

    Raises:
        FlybenchError: they are.
    """
    if engine.kind == "graph" and max(method.k + 1, method.draft.lookup_tokens + 2) > WIDEST:
        raise FlybenchError(
            f"method.k={method.k} with method.draft.lookup_tokens={method.draft.lookup_tokens} is "
            f"too wide for engine=graph, which reads at most {WIDEST} tokens in a pass: lower it, "
            "or use engine=eager."
        )


def check_devices(config: RunConfig) -> torch.device:
    """The target's device.

    Raises:
        FlybenchError: a device does not exist, or the pair needs more cards than there are.
    """
    cards = torch.cuda.device_count()
    wanted = config.model.target.device
    name = config.engine.device if wanted in ("auto", "balanced") else wanted
    if config.model.gpus > cards and name == "auto":
        raise FlybenchError(
            f"model {config.model.name} needs {config.model.gpus} GPU(s) of 80 GB and this machine "
            f"has {cards}: choose a smaller model (`flybench list models`), or set "
            "engine.device=cpu to load it anyway."
        )
    if config.model.draft is not None and config.model.draft.device != "auto":
        resolve_device(config.model.draft.device)
    return resolve_device(name)
