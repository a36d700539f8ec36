"""Decodes a task with AR and methods, one sample after another, all on the same warm models.

For every sample AR and the methods run back to back, in alternating order, each from a cold state.
What is finished is on disk; `pending` finds what is not.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import torch
from tqdm import tqdm

from flybench.bandwidth import read_bandwidth
from flybench.config import MethodConfig
from flybench.core import Generation, Loosened, Prompt, Record
from flybench.decode import Decoder, StopRule
from flybench.engine.loading import Pair, load_pair
from flybench.machinery import Machinery, Weights
from flybench.measure import peak_memory_bytes, reset_peak_memory
from flybench.methods import AR, AR_AGAIN, build_decoder
from flybench.plan import Plan
from flybench.progress import Progress
from flybench.ranks import rank, world_size
from flybench.records import DRAFT_IDS
from flybench.sampling import Sampling
from flybench.telemetry import open_sensors
from flybench.traces import has_traces, write_traces

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


@dataclass(frozen=True)
class Loaded:
    """A pair in memory, what its models must read for a token, and the decoders built on it."""

    weights: Weights
    max_length: int
    pair: Pair
    costs: dict[str, Any]
    _decoders: dict[tuple[MethodConfig, Sampling, bool], Decoder] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Machinery, max_length: int) -> Loaded:
        """The weights that were chosen, for texts of up to `max_length` tokens."""
        # Before the weights: the memory is free, and a process's peak stays that of its models.
        bandwidth = read_bandwidth(plan.device)
        pair = load_pair(
            plan.target, plan.draft, plan.vocab_size, plan.engine, max_length, plan.head
        )
        draft = pair.draft_footprint
        costs = {
            "read_bandwidth": bandwidth,
            "target": asdict(pair.target_footprint),
            "draft": None if draft is None else asdict(draft),
        }
        if plan.engine.kind == "graph" and plan.device.type == "cuda" and not rank():
            print(
                "Compiling and capturing: up to a minute, less when it was done before.",
                file=sys.stderr,
            )
        return cls(plan.weights, max_length, pair, costs)

    def serves(self, weights: Weights, length: int) -> bool:
        """Whether it is what is wanted, for texts of up to `length` tokens."""
        return self.weights.serve(weights) and length <= self.max_length

    def decoder(self, method: MethodConfig, sampling: Sampling, traces: bool = False) -> Decoder:
        """A method on these models; AR's second turn is on the very decoder of the first."""
        method = AR if method == AR_AGAIN else method
        key = method, sampling, traces
        if key not in self._decoders:
            built = build_decoder(method, self.pair.target, self.pair.draft, sampling, traces)
            self._decoders[key] = built
        return self._decoders[key]


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
        # What is too long for the longest draft may still be answered beside a shorter one.
        plan = min(self.plans, key=lambda plan: plan.config.method.k)
        return answer(plan, self.method, self.decoder, prompt, position, self.salt)


def turns(wanted: Sequence[tuple[Plan, list[MethodConfig]]], loaded: Loaded) -> Iterator[Turn]:
    """The methods that plans want; AR, first and again, is decoded once for all that want it."""
    shared: dict[MethodConfig, list[Plan]] = {}
    for plan, methods in wanted:
        for method in methods:
            shared.setdefault(method, []).append(plan)
    for method, plans in shared.items():
        sampling, traces = plans[0].config.sampling.rule(), plans[0].traces(method)
        yield Turn(method, loaded.decoder(method, sampling, traces), plans)


def generate(
    plans: Sequence[Plan], todo: Sequence[Asked], loaded: Loaded, progress: Progress
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
        print(f"Continuing {first.folder.path}: {done} of {len(first.prompts)} samples are there.")
    with progress.decoding():
        for number, prompt, lacking in todo:
            wanted = [(plans[index], methods) for index, methods in lacking.items()]
            order = list(turns(wanted, loaded))
            # There and back: a drift of the machine favours no method.
            for position, turn in enumerate(order[:: -1 if number % 2 else 1]):
                progress.on(turn.label)
                energy = sensors.energy_j()
                record = turn.answer(prompt, position)
                record = replace(record, telemetry=sensors.since(energy))
                for plan in turn.plans:
                    if plan.traces(turn.method):
                        write_traces(plan.folder, record)  # first: no record is without them
                    plan.folder.append(record)
                progress.step()


def warm_up(plans: Sequence[Plan], loaded: Loaded, todo: Sequence[Asked]) -> None:
    """Let caches, kernels and clocks settle; nothing of it is recorded."""
    for _, prompt, _ in todo[: plans[0].config.warmup]:
        short = replace(prompt, max_new_tokens=min(prompt.max_new_tokens, WARMUP_TOKENS))
        for turn in turns([(plan, plan.methods) for plan in plans], loaded):
            turn.answer(short, 0)


def answer(
    plan: Machinery,
    method: MethodConfig,
    decoder: Decoder,
    prompt: Prompt,
    position: int,
    salt: str = "",
) -> Record:
    """One sample under one method. A failure is recorded, never timed, and the run goes on."""
    device = decoder.target.device
    record = Record(
        sample_id=prompt.sample_id,
        method=method.name,
        category=prompt.category,
        position=position,
        prompt_sha256=plan.prompt_sha256(prompt),
    )
    reset_peak_memory(device)
    try:
        generations = converse(plan, prompt, decoder, salt)
    except Exception as error:  # whatever breaks one sample must not lose the others
        if world_size() > 1:  # the other ranks are out of step now
            raise
        if isinstance(error, torch.OutOfMemoryError):
            torch.cuda.empty_cache()
        message = f"{type(error).__name__}: {error}"
        tqdm.write(f"{prompt.sample_id} ({method.name}) failed: {message}", file=sys.stderr)
        return replace(record, error=message)
    return replace(record, turns=generations, peak_memory_bytes=peak_memory_bytes(device))


def converse(plan: Machinery, prompt: Prompt, decoder: Decoder, salt: str = "") -> list[Generation]:
    """Every turn of a sample; a later turn reads the method's own earlier answers."""
    stop = StopRule(plan.target.eos_ids, prompt.max_new_tokens, prompt.stop, plan.chat.spell)
    messages = list(prompt.messages)
    answers: list[Generation] = []
    for number, question in enumerate([None, *prompt.followups]):
        if question is not None:
            messages += [
                {"role": "assistant", "content": answers[-1].text},
                {"role": "user", "content": question},
            ]
        ids = plan.chat.encode(plan.chat.render(messages))
        plan.check_length(len(ids), prompt)
        seed = f"{plan.config.seed}:{prompt.sample_id}:{number}{salt}".encode()
        generation = decoder.decode(
            ids, stop, int.from_bytes(hashlib.sha256(seed).digest()[:7], "big")
        )
        text = plan.chat.answer(generation.ids, prompt.stop)
        loosened = [_spelled(plan, generation, token) for token in generation.loosened]
        answers.append(replace(generation, text=text, loosened=loosened))
    return answers


def _spelled(plan: Machinery, generation: Generation, token: Loosened) -> Loosened:
    """With the texts of the token and of what the target preferred, and where it stands."""
    spell, before = plan.chat.spell, generation.ids[: token.place]
    texts = spell([generation.ids[token.place]]), spell([token.opinion.preferred])
    return replace(token, text=texts[0], preferred_text=texts[1], start=len(spell(before)))
