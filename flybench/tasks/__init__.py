"""What is asked and how an answer is scored: one file a task, chosen by `task.kind`."""

from __future__ import annotations

from collections.abc import Callable

from flybench.config import TaskConfig
from flybench.tasks.acp_bench import AcpBenchTask
from flybench.tasks.base import Task
from flybench.tasks.conversations import MtBenchTask, SpecBenchTask
from flybench.tasks.demo import DemoTask
from flybench.tasks.fragile import FragileTask
from flybench.tasks.gsm8k import Gsm8kTask
from flybench.tasks.humaneval import HumanEvalTask
from flybench.tasks.humaneval_instruct import HumanEvalInstructTask
from flybench.tasks.lm_eval.task import LmEvalTask
from flybench.tasks.mbpp.mbpp import MbppTask
from flybench.tasks.mbpp.mbpp_plus import MbppPlusTask
from flybench.tasks.niah import NiahTask

KINDS: dict[str, Callable[[TaskConfig], Task]] = {
    "acp_bench": AcpBenchTask,
    "demo": DemoTask,
    "fragile": FragileTask,
    "gsm8k": Gsm8kTask,
    "humaneval": HumanEvalTask,
    "humaneval_instruct": HumanEvalInstructTask,
    "lm_eval": LmEvalTask,
    "mbpp": MbppTask,
    "mbpp_plus": MbppPlusTask,
    "mt_bench": MtBenchTask,
    "niah": NiahTask,
    "spec_bench": SpecBenchTask,
}


def build_task(config: TaskConfig) -> Task:
    """The task of `config`, with its data loaded.

    Raises:
        FlybenchError: the data cannot be found or read.
    """
    return KINDS[config.kind](config)
