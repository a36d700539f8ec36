"""`flybench run`: decode a task with AR and a method, one pair of answers after another.

For every sample both run back to back on the same warm models, in alternating order, each from a
cold state. What is finished is on disk; the same command continues a run that was stopped.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace

import torch
from tqdm import tqdm

from flybench.bandwidth import read_bandwidth
from flybench.core import Generation, Prompt, Record
from flybench.decode import Decoder, StopRule
from flybench.engine.loading import load_pair
from flybench.measure import peak_memory_bytes, reset_peak_memory
from flybench.methods import build_decoder
from flybench.plan import Plan
from flybench.ranks import rank, world_size
from flybench.records import DRAFT_IDS
from flybench.telemetry import open_sensors

WARMUP_TOKENS = 32


def pending(plan: Plan) -> list[tuple[int, Prompt]]:
    """Samples, with their number, that some method has not finished on this very prompt."""
    records = plan.folder.records()

    def finished(prompt: Prompt) -> bool:
        found = [records.get((prompt.sample_id, method.name)) for method in plan.methods]
        sha256 = plan.prompt_sha256(prompt)
        return all(r and r.error is None and r.prompt_sha256 == sha256 for r in found)

    return [
        (number, prompt)
        for number, prompt in enumerate(plan.prompts, start=plan.config.offset)
        if not finished(prompt)
    ]


def generate(plan: Plan, todo: Sequence[tuple[int, Prompt]]) -> None:
    """Decode `todo` and append a record for each sample and method."""
    decoders = load_decoders(plan)
    sensors = open_sensors(plan.device)
    warm_up(plan, decoders, todo)
    done = len(plan.prompts) - len(todo)
    if done and not rank():
        print(f"Continuing {plan.folder.path}: {done} of {len(plan.prompts)} samples are there.")
    with tqdm(
        total=len(plan.prompts),
        initial=done,
        desc=plan.label,
        unit="sample",
        disable=True if rank() else None,
    ) as bar:
        for number, prompt in todo:
            order = list(decoders.items())
            # ABBA: a drift of the machine favours neither side.
            for position, (name, decoder) in enumerate(order[:: -1 if number % 2 else 1]):
                energy = sensors.energy_j()
                record = answer(plan, prompt, name, decoder, position)
                plan.folder.append(replace(record, telemetry=sensors.since(energy)))
            bar.update()


def load_decoders(plan: Plan) -> dict[str, Decoder]:
    """The weights, and a decoder for each method on them; what they must read is written down."""
    config = plan.config
    # Before the weights: the memory is free, and a process's peak stays that of its models.
    bandwidth = read_bandwidth(plan.device)
    pair = load_pair(
        plan.target, plan.draft, plan.vocab_size, plan.engine, plan.max_length, plan.head
    )
    draft = pair.draft_footprint
    costs = {
        "read_bandwidth": bandwidth,
        "target": asdict(pair.target_footprint),
        "draft": None if draft is None else asdict(draft),
    }
    plan.folder.amend_invocation(costs=costs)
    if pair.draft_ids is not None:
        plan.folder.write_json(DRAFT_IDS, pair.draft_ids.tolist())
    sampling = config.sampling.rule()
    if plan.engine.kind == "graph" and plan.device.type == "cuda" and not rank():
        print(
            "Compiling and capturing: up to a minute, less when it was done before.",
            file=sys.stderr,
        )
    return {
        method.name: build_decoder(method, pair.target, pair.draft, sampling)
        for method in plan.methods
    }


def warm_up(plan: Plan, decoders: dict[str, Decoder], todo: Sequence[tuple[int, Prompt]]) -> None:
    """Let caches, kernels and clocks settle; nothing of it is recorded."""
    for _, prompt in todo[: plan.config.warmup]:
        short = replace(prompt, max_new_tokens=min(prompt.max_new_tokens, WARMUP_TOKENS))
        for name, decoder in decoders.items():
            answer(plan, short, name, decoder, 0)


def answer(plan: Plan, prompt: Prompt, method: str, decoder: Decoder, position: int) -> Record:
    """One sample under one method. A failure is recorded, never timed, and the run goes on."""
    device = decoder.target.device
    record = Record(
        sample_id=prompt.sample_id,
        method=method,
        category=prompt.category,
        position=position,
        prompt_sha256=plan.prompt_sha256(prompt),
    )
    reset_peak_memory(device)
    try:
        turns = converse(plan, prompt, decoder)
    except Exception as error:  # whatever breaks one sample must not lose the others
        if world_size() > 1:  # the other ranks are out of step now
            raise
        if isinstance(error, torch.OutOfMemoryError):
            torch.cuda.empty_cache()
        message = f"{type(error).__name__}: {error}"
        print(f"{prompt.sample_id} ({method}) failed: {message}", file=sys.stderr)
        return replace(record, error=message)
    return replace(record, turns=turns, peak_memory_bytes=peak_memory_bytes(device))


def converse(plan: Plan, prompt: Prompt, decoder: Decoder) -> list[Generation]:
    """Every turn of a sample; a later turn reads the method's own earlier answers."""
    stop = StopRule(plan.target.eos_ids, prompt.max_new_tokens, prompt.stop, plan.chat.spell)
    messages = list(prompt.messages)
    turns: list[Generation] = []
    for number, question in enumerate([None, *prompt.followups]):
        if question is not None:
            messages += [
                {"role": "assistant", "content": turns[-1].text},
                {"role": "user", "content": question},
            ]
        ids = plan.chat.encode(plan.chat.render(messages))
        plan.check_length(len(ids), prompt)
        seed = f"{plan.config.seed}:{prompt.sample_id}:{number}".encode()
        generation = decoder.decode(
            ids, stop, int.from_bytes(hashlib.sha256(seed).digest()[:7], "big")
        )
        turns.append(replace(generation, text=plan.chat.answer(generation.ids, prompt.stop)))
    return turns
