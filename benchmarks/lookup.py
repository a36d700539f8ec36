"""Compare prompt lookup inside a draft model on the host and on the device; print one JSON line.

    python benchmarks/lookup.py [--draft llama-1b] [--context 1024]

A draft model with prompt lookup (`draft/nested.py`) scores guessed tokens in each of its passes. On
the host, lookup is a dictionary and one wait for the device per pass, which is needed anyway to
know when the draft is long enough. On the device, it is a search of the text inside the captured
pass, with the same wait. Both draft the same tokens, so the ratio of their times decides.
"""

from __future__ import annotations

import argparse
import json
import sys

import torch
from agreement import GREEDY
from measuring import machine, milliseconds, model_of
from torch import Tensor

from flybench.draft.base import DraftSetup
from flybench.draft.nested import NestedDrafter
from flybench.engine.graph.capture import capture
from flybench.engine.graph.model import GraphModel
from flybench.engine.loading.placement import resolve_device

LONGEST, SHORTEST, GUESS = 4, 1, 6


class DeviceLookup:
    """The text on the device, and a pass that looks up, scores, compares and appends."""

    def __init__(self, model: GraphModel) -> None:
        self._model = model
        self.text = torch.zeros(model.slots + GUESS + 1, dtype=torch.long, device=model.device)
        self.length = torch.zeros(1, dtype=torch.long, device=model.device)
        self._index = torch.arange(len(self.text), device=model.device)
        self._offsets = torch.arange(GUESS + 1, device=model.device)
        self.start([1, 2, 3, 4, 5])
        self.program = capture(self._pass, model.device)

    def start(self, context: list[int]) -> None:
        self.text[: len(context)] = self._model.ids(context)
        self.length.fill_(len(context))

    def follow(self) -> tuple[Tensor, Tensor]:
        """Return the ids after the last earlier occurrence of the text's end, and their number."""
        start = torch.zeros_like(self.length)
        for n in range(SHORTEST, LONGEST + 1):  # a longer match overrides a shorter one
            same = (self._index >= n) & (self._index < self.length)
            for back in range(1, n + 1):
                same &= self.text.roll(back) == self.text[self.length - back]
            last = torch.where(same, self._index, 0).max()
            start = torch.where(last > 0, last, start)
        found = (self.length - start).clamp(max=GUESS) * (start > 0)
        return self.text[start + self._offsets[:GUESS]], found

    def _pass(self) -> Tensor:
        guess, found = self.follow()
        input_buffer = self._model.input_buffer
        input_buffer[:1] = self.length - 1
        input_buffer[1:2] = self.text[self.length - 1]
        input_buffer[2 : 2 + GUESS] = guess
        choice = self._model.run_from_buffer(GUESS + 1).statistics.choice
        right = (choice[:GUESS] == guess) & (self._offsets[:GUESS] < found)
        kept = right.long().cumprod(0).sum() + 1
        self.text.index_copy_(0, self.length + self._offsets, choice)
        self.length += kept
        return kept

    def draft(self, context: list[int], count: int) -> list[int]:
        self.start(context)
        drafted = 0
        while drafted < count:
            drafted += int(self.program())
        return self.text[len(context) : len(context) + count].tolist()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draft", default="llama-1b")
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--k", type=int, default=15)
    options = parser.parse_args()
    device = resolve_device("auto")
    whole = model_of(options.draft, device)
    model = GraphModel(whole, whole.config.vocab_size, options.context + 256)
    phrase = torch.randint(10, 250, (60,), generator=torch.Generator().manual_seed(0)).tolist()
    context = (phrase * (options.context // 60 + 1))[: options.context]
    host = NestedDrafter(
        DraftSetup(device, options.k, GREEDY, model),
        ngram_max=LONGEST,
        ngram_min=SHORTEST,
        lookup_tokens=GUESS,
    )
    host.start(context, None, None)

    def on_host() -> list[int]:
        model.rollback(len(context) - 1)
        return host.propose(context, options.k).tokens.tolist()

    with torch.no_grad():
        own = DeviceLookup(model)
        model.prefill(context[:-1])
        same = on_host() == own.draft(context, options.k)
        host_ms = milliseconds(on_host, device)
        device_ms = milliseconds(lambda: own.draft(context, options.k), device)
    line = {
        "benchmark": "lookup",
        **machine(device),
        **vars(options),
        "same_draft": same,
        "host_ms": host_ms,
        "device_ms": device_ms,
        "device_over_host": device_ms / host_ms,
    }
    print(json.dumps(line))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
