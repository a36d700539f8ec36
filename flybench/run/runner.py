"""Decodes a task with AR and methods, one sample after another, all on the same warm models.

For every sample AR and the methods run back to back, in alternating order, each from a cold state.
What is finished is on disk; `pending` finds what is not.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from msgspec import structs

from flybench.config import MethodConfig
from flybench.core.samples import Prompt, Record
from flybench.decode import AR_AGAIN, Decoder
from flybench.distributed import rank
from flybench.measure.gpu import open_sensors
from flybench.records.folder import DRAFT_IDS
from flybench.records.traces import has_traces, write_traces
from flybench.run.generate import answer
from flybench.run.plan import Plan
from flybench.run.progress import Progress
from flybench.run.session import Session

log = logging.getLogger(__name__)

WARMUP_TOKENS = 32


class Asked(NamedTuple):
    """A sample with its number, and the methods to decode it with, by the number of a plan."""

    number: int
    prompt: Prompt
    lacking: dict[int, list[MethodConfig]]

    @property
    def answers(self) -> int:
        """How often it is decoded: a method that several plans lack serves all of them."""
        return len({method for methods in self.lacking.values() for method in methods})


def pending(plans: Sequence[Plan]) -> list[Asked]:
    """What is left to decode, for plans that ask the same samples.

    AR and the method are decoded together, so that both meet the same machine. AR's second turn may
    follow alone: a run without it is continued with it. A sample that lacks the traces that are
    asked for is decoded again.
    """
    known = [plan.folder.records() for plan in plans]

    def lacking(number: int, prompt: Prompt) -> list[MethodConfig]:
        plan, records = plans[number], known[number]
        sha256 = plan.prompt_sha256(prompt)

        def done(method: MethodConfig) -> bool:
            found = records.get((prompt.sample_id, method.name))
            if found is None or found.error is not None or found.prompt_sha256 != sha256:
                return False
            return not plan.traces(method) or has_traces(plan.folder, found)

        absent = [method for method in plan.methods if not done(method)]
        return absent if absent in ([], [AR_AGAIN]) else plan.methods

    first = plans[0]
    asked = []
    for number, prompt in enumerate(first.prompts, start=first.config.offset):
        found = {index: lacking(index, prompt) for index in range(len(plans))}
        asked.append(Asked(number, prompt, {index: own for index, own in found.items() if own}))
    return [each for each in asked if each.lacking]


class Turn(NamedTuple):
    """A method's turn at a sample, and the plans whose folders get its record."""

    method: MethodConfig
    decoder: Decoder
    plans: list[Plan]

    @property
    def salt(self) -> str:
        """What tells the draws of AR's second turn from those of its first, at temperature > 0."""
        return ":again" if self.method == AR_AGAIN else ""

    @property
    def label(self) -> str:
        """Model, method and task, and what the method is set to."""
        config = self.plans[0].config
        names = [config.model.name, self.method.name, config.task.name, self.method.settings]
        return " ".join(filter(None, names))

    def answer(self, prompt: Prompt, position: int) -> Record:
        """One sample, at this method's `position` in the order of methods."""
        # What is too long for one of the drafts may still be answered beside another.
        plan = max(self.plans, key=lambda plan: plan.room)
        return answer(plan, self.method, self.decoder, prompt, position, self.salt)


def turns(wanted: Sequence[tuple[Plan, list[MethodConfig]]], loaded: Session) -> Iterator[Turn]:
    """The methods that plans want; AR, first and again, is decoded once for all that want it."""
    shared: dict[MethodConfig, list[Plan]] = {}
    for plan, methods in wanted:
        for method in methods:
            shared.setdefault(method, []).append(plan)
    for method, plans in shared.items():
        sampling, traces = plans[0].config.sampling.rule(), plans[0].traces(method)
        yield Turn(method, loaded.decoder(method, sampling, traces), plans)


def generate(
    plans: Sequence[Plan], todo: Sequence[Asked], loaded: Session, progress: Progress
) -> None:
    """Decode `todo` and append a record for each sample and method."""
    for plan in plans:
        drafts = plan.weights.drafter is not None
        costs = loaded.costs if drafts else loaded.costs | {"draft": None}
        plan.folder.amend_invocation(costs=costs)
        if drafts and loaded.pair.draft_ids is not None:
            plan.folder.write(DRAFT_IDS, json.dumps(loaded.pair.draft_ids.tolist()))
    first, sensors = plans[0], open_sensors(plans[0].device)
    warm_up(plans, loaded, todo)
    done = len(first.prompts) - len(todo)
    if done and not rank():
        log.info(
            "Continuing %s: %d of %d samples are there.",
            first.folder.path,
            done,
            len(first.prompts),
        )
    with progress.decoding():
        for number, prompt, lacking in todo:
            wanted = [(plans[index], methods) for index, methods in lacking.items()]
            order = list(turns(wanted, loaded))
            # There and back: a drift of the machine favours no method.
            for position, turn in enumerate(order[:: -1 if number % 2 else 1]):
                progress.on(turn.label)
                energy = sensors.energy_j()
                record = turn.answer(prompt, position)
                record = structs.replace(record, telemetry=sensors.since(energy))
                for plan in turn.plans:
                    if plan.traces(turn.method):
                        write_traces(plan.folder, record)  # first: no record is without them
                    plan.folder.append(record)
                progress.step()


def warm_up(plans: Sequence[Plan], loaded: Session, todo: Sequence[Asked]) -> None:
    """Let caches, kernels and clocks settle; nothing of it is recorded."""
    for _, prompt, _ in todo[: plans[0].config.warmup]:
        short = replace(prompt, max_new_tokens=min(prompt.max_new_tokens, WARMUP_TOKENS))
        for turn in turns([(plan, plan.methods) for plan in plans], loaded):
            turn.answer(short, 0)
