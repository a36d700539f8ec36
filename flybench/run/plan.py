"""Plan a run before any weights are loaded: data, prompts, limits, and the run's folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

from flybench.config import MethodConfig, RunConfig, digest
from flybench.config.declared import FILE, declarations
from flybench.core.errors import FlybenchError
from flybench.core.samples import Prompt
from flybench.decode import AR, AR_AGAIN
from flybench.engine.loading.description import DescribePair, describe_pair, describing_once
from flybench.records.folder import RunFolder
from flybench.run.setup import ModelSetup, check_devices, choose_models
from flybench.score.judge import check_judge
from flybench.tasks import build_task
from flybench.tasks.base import Task

ORDER = 20251122  # seed of shuffled samples; the same in all runs, so they can be compared


@dataclass(frozen=True)
class Plan(ModelSetup):
    """A checked run. `key` hashes everything that decides its tokens, `family` all but the seed.

    `max_length` is the maximum length in tokens that a sample can reach.
    """

    folder: RunFolder
    key: str
    family: str
    task: Task
    prompts: Sequence[Prompt]
    max_length: int

    @property
    def cautions(self) -> list[str]:
        """Warnings about the interpretation of this run's results."""
        head = self.head.caution(self.max_length) if self.head else None
        notes = (self.engine_note, self.config.method.caution, head, self.task.caution)
        return [note for note in notes if note]

    @property
    def methods(self) -> list[MethodConfig]:
        """AR, the method unless that is AR, and the repeat of AR if the run has one."""
        own = [self.config.method] if self.config.method.draft.kind != "none" else []
        return [AR, *own, *[AR_AGAIN] * (self.config.baseline.repeat - 1)]

    def traces(self, method: MethodConfig) -> bool:
        """Return True if the run keeps traces of `method`; AR has none."""
        return self.config.record.traces and method.draft.kind != "none"

    def compatible(self, other: Plan) -> bool:
        """Return True if two runs differ only in their method and can share AR's answers."""
        same = replace(self.config, method=AR) == replace(other.config, method=AR)
        own, others = self.weights, other.weights
        return same and (own.includes(others) or others.includes(own))


def make_plan(config: RunConfig, describe: DescribePair = describe_pair) -> Plan:
    """Check a run and plan it, without changing anything on disk.

    Raises:
        FlybenchError: the run would fail.
    """
    check_devices(config)  # before any data are fetched
    task = build_task(config.task)
    check_judge(config, task)
    setup = choose_models(config, describe)
    target, chat, head = setup.target, setup.chat, setup.head
    prompts = _prompts(task, config)
    if not prompts:
        raise FlybenchError(
            f"offset={config.offset} leaves no samples of task {config.task.name}, which has "
            f"{len(task.prompts())}: use a smaller offset, or check that its data are not empty."
        )
    identity = config.identity() | {
        "engine": asdict(setup.engine),
        "files": [info.files for info in setup.infos] + ([head.files] if head else []),
        "eos_ids": sorted(target.eos_ids),
        "vocab_size": setup.vocab_size,
        "data": task.data_sha256,
        "template": chat.identity,
        "device": setup.device.type,
    }
    if config.task.kind.startswith(FILE):
        (declared,) = declarations("tasks", config.task.kind)
        identity["task_code"] = declared.code_sha256
    key = digest(identity)
    name = "-".join([config.model.name, config.method.name, config.task.name, key[:8]])
    lengths = [len(chat.encode(chat.render(prompt.messages))) for prompt in prompts]
    plan = Plan(
        **vars(setup),
        folder=RunFolder(Path(config.out).expanduser() / name),
        key=key,
        family=digest({**identity, "seed": None}),
        task=task,
        prompts=prompts,
        max_length=max(map(setup.reach, prompts, lengths)),
    )
    # A prompt that is too long fails only its sample, but if none fits, the run is rejected here.
    shortest = min(range(len(prompts)), key=lengths.__getitem__)
    plan.check_length(lengths[shortest], prompts[shortest])
    return plan


def make_plans(configs: Sequence[RunConfig]) -> list[Plan | Exception]:
    """Plan every cell; the result has an exception in place of each plan that failed."""
    describe = describing_once()

    def one(config: RunConfig) -> Plan | Exception:
        try:
            return make_plan(config, describe)
        except Exception as error:
            return error

    return [one(config) for config in configs]


def _prompts(task: Task, config: RunConfig) -> Sequence[Prompt]:
    """Return the requested samples. Tasks are sorted by category, hence `shuffle`."""
    end = None if config.limit is None else config.offset + config.limit
    if not config.shuffle:
        return task.prompts(end)[config.offset :]
    prompts = [*task.prompts()]
    Random(ORDER).shuffle(prompts)
    return prompts[config.offset : end]
