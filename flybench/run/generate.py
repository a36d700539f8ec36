"""Generate the turns of one sample with one method."""

from __future__ import annotations

import hashlib
import logging

import torch
from msgspec import structs

from flybench.config import MethodConfig
from flybench.core.samples import Generation, LooseToken, Prompt, Record
from flybench.core.token_classes import continues_copy
from flybench.decode import Decoder, StopRule
from flybench.distributed import world_size
from flybench.measure.clock import peak_memory_bytes, reset_peak_memory
from flybench.run.setup import ModelSetup

log = logging.getLogger(__name__)


def generate_sample(
    setup: ModelSetup,
    method: MethodConfig,
    decoder: Decoder,
    prompt: Prompt,
    position: int,
    salt: str = "",
) -> Record:
    """Decode one sample with one method; a failure is recorded without times."""
    device = decoder.target.device
    record = Record(
        sample_id=prompt.sample_id,
        method=method.name,
        category=prompt.category,
        position=position,
        prompt_sha256=setup.prompt_sha256(prompt),
    )
    reset_peak_memory(device)
    try:
        generations = generate_turns(setup, prompt, decoder, salt)
    except Exception as error:  # a failed sample must not stop the others
        if world_size() > 1:  # the ranks are out of step
            raise
        if isinstance(error, torch.OutOfMemoryError):
            torch.cuda.empty_cache()
        message = f"{type(error).__name__}: {error}"
        log.warning("%s (%s) failed: %s", prompt.sample_id, method.name, message)
        log.debug("The traceback of %s:", prompt.sample_id, exc_info=error)
        return structs.replace(record, error=message)
    return structs.replace(record, turns=generations, peak_memory_bytes=peak_memory_bytes(device))


def generate_turns(
    setup: ModelSetup, prompt: Prompt, decoder: Decoder, salt: str = ""
) -> list[Generation]:
    """Decode every turn of a sample; later turns are conditioned on the method's own answers."""
    stop = StopRule(setup.target.eos_ids, prompt.max_new_tokens, prompt.stop, setup.chat.detokenize)
    messages = list(prompt.messages)
    answers: list[Generation] = []
    for number, question in enumerate([None, *prompt.followups]):
        if question is not None:
            messages += [
                {"role": "assistant", "content": answers[-1].text},
                {"role": "user", "content": question},
            ]
        ids = setup.chat.encode(setup.chat.render(messages))
        setup.check_length(len(ids), prompt)
        seed = f"{setup.config.seed}:{prompt.sample_id}:{number}{salt}".encode()
        generation = decoder.decode(
            ids, stop, int.from_bytes(hashlib.sha256(seed).digest()[:7], "big")
        )
        text = setup.chat.answer_text(generation.ids, prompt.stop)
        loose_tokens = [
            _with_texts(setup, ids, generation, token) for token in generation.loose_tokens
        ]
        assistant_prefix = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
        answers.append(
            structs.replace(
                generation, text=text, loose_tokens=loose_tokens, assistant_prefix=assistant_prefix
            )
        )
    return answers


def _with_texts(
    setup: ModelSetup, prompt: list[int], generation: Generation, token: LooseToken
) -> LooseToken:
    """Add the texts of a loose token and of the target's top-1, its offset, and `copied`."""
    detokenize, before = setup.chat.detokenize, generation.ids[: token.index]
    top1 = token.statistics.top1
    return structs.replace(
        token,
        text=detokenize([generation.ids[token.index]]),
        top1_text=detokenize([top1]),
        start=len(detokenize(before)),
        copied=continues_copy([*prompt, *before], top1),
    )
