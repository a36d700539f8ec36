"""Decode a task with AR and other methods, one sample after another, on the same warm models.

For every sample, AR and the methods run back to back, in alternating order, each with empty caches.
Finished answers are on disk; `pending` finds the others.
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
from flybench.run.generate import generate_sample
from flybench.run.plan import Plan
from flybench.run.progress import Progress
from flybench.run.session import Session

log = logging.getLogger(__name__)

WARMUP_TOKENS = 32


class PendingSample(NamedTuple):
    """An unfinished sample. `missing` has the methods to decode, by index of the plan."""

    number: int
    prompt: Prompt
    missing: dict[int, list[MethodConfig]]

    @property
    def answers(self) -> int:
        """Number of answers to decode; a method that several plans lack is decoded once."""
        return len({method for methods in self.missing.values() for method in methods})


def pending(plans: Sequence[Plan]) -> list[PendingSample]:
    """Return the samples left to decode, for plans with equal samples.

    AR and the method are decoded together, on a machine in the same state. Only the repeat of AR
    may be added to a finished run. A sample without the requested traces is decoded again.
    """
    known = [plan.folder.records() for plan in plans]

    def missing(index: int, prompt: Prompt) -> list[MethodConfig]:
        plan, records = plans[index], known[index]
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
        found = {index: missing(index, prompt) for index in range(len(plans))}
        asked.append(
            PendingSample(number, prompt, {index: own for index, own in found.items() if own})
        )
    return [each for each in asked if each.missing]


class ScheduledMethod(NamedTuple):
    """A method with its decoder, and the plans whose folders get its records."""

    method: MethodConfig
    decoder: Decoder
    plans: list[Plan]

    @property
    def salt(self) -> str:
        """Suffix of the seed, so the repeat of AR draws other samples at temperature > 0."""
        return ":again" if self.method == AR_AGAIN else ""

    @property
    def label(self) -> str:
        """Model, method, task, and the settings of the method."""
        config = self.plans[0].config
        names = [config.model.name, self.method.name, config.task.name, self.method.settings]
        return " ".join(filter(None, names))

    def decode(self, prompt: Prompt, position: int) -> Record:
        """Decode one sample, at this method's `position` in the order of methods."""
        # A prompt that is too long for one of the drafts may fit with another.
        plan = max(self.plans, key=lambda plan: plan.room)
        return generate_sample(plan, self.method, self.decoder, prompt, position, self.salt)


def schedule(
    wanted: Sequence[tuple[Plan, list[MethodConfig]]], session: Session
) -> Iterator[ScheduledMethod]:
    """Yield the methods to decode, each once for all plans that want it."""
    shared: dict[MethodConfig, list[Plan]] = {}
    for plan, methods in wanted:
        for method in methods:
            shared.setdefault(method, []).append(plan)
    for method, plans in shared.items():
        sampling, traces = plans[0].config.sampling.rule(), plans[0].traces(method)
        yield ScheduledMethod(method, session.decoder(method, sampling, traces), plans)


def generate(
    plans: Sequence[Plan], todo: Sequence[PendingSample], session: Session, progress: Progress
) -> None:
    """Decode the samples `todo` and append a record for each sample and method."""
    for plan in plans:
        drafts = plan.weights.drafter is not None
        costs = session.costs if drafts else session.costs | {"draft": None}
        plan.folder.amend_invocation(costs=costs)
        if drafts and session.pair.draft_ids is not None:
            plan.folder.write(DRAFT_IDS, json.dumps(session.pair.draft_ids.tolist()))
    first, sensors = plans[0], open_sensors(plans[0].device)
    warm_up(plans, session, todo)
    done = len(first.prompts) - len(todo)
    if done and not rank():
        log.info(
            "Resuming %s: %d of %d samples are done.",
            first.folder.path,
            done,
            len(first.prompts),
        )
    with progress.decoding():
        for number, prompt, missing in todo:
            wanted = [(plans[index], methods) for index, methods in missing.items()]
            order = list(schedule(wanted, session))
            # The order alternates, so a drift of the machine's speed affects all methods alike.
            for position, step in enumerate(order[:: -1 if number % 2 else 1]):
                progress.on(step.label)
                energy = sensors.energy_j()
                record = step.decode(prompt, position)
                record = structs.replace(record, telemetry=sensors.since(energy))
                for plan in step.plans:
                    if plan.traces(step.method):
                        write_traces(
                            plan.folder, record
                        )  # first, because every record must have them
                    plan.folder.append(record)
                progress.step()


def warm_up(plans: Sequence[Plan], session: Session, todo: Sequence[PendingSample]) -> None:
    """Decode the first samples without recording them, to warm up caches, kernels and clocks."""
    for _, prompt, _ in todo[: plans[0].config.warmup]:
        short = replace(prompt, max_new_tokens=min(prompt.max_new_tokens, WARMUP_TOKENS))
        for step in schedule([(plan, plan.methods) for plan in plans], session):
            step.decode(short, 0)
