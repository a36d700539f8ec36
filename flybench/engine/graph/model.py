"""A causal model whose passes of a fixed width, and whole drafts, are one CUDA graph each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor
from transformers import PreTrainedModel

from flybench.core.errors import FlybenchError
from flybench.engine.base import DraftPass, Drawn, ReadPass, upload
from flybench.engine.eagle3.taps import Taps, joined
from flybench.engine.graph.capture import capture
from flybench.engine.graph.draft import CapturedDraft
from flybench.engine.graph.forward import SPLIT, PassOutput, StaticForward
from flybench.engine.kernels.compact import Compaction
from flybench.sampling import Sampling

MAX_PASS_TOKENS = SPLIT  # tokens that a pass may read, its padding included
# A prompt is read in as many wide pieces as it fills, then in narrow ones, the last of them padded.
PROMPT_WIDTHS = (4 * SPLIT, SPLIT)


class GraphModel:
    """A transformers model with a static cache of at least `max_length` tokens (batch 1).

    `model` is rewired in place. With several `ranks`, all follow rank 0. Unless `row_invariant`, a
    single token uses faster products than several. The model is tapped at `taps`.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        vocab_size: int,
        max_length: int,
        ranks: int = 1,
        row_invariant: bool = True,
        taps: Sequence[int] = (),
    ) -> None:
        self.device = model.device
        self.vocab_size = vocab_size
        self.ranks = ranks
        self._forward = StaticForward(model, vocab_size, max_length, row_invariant=row_invariant)
        self.slots = self._forward.slots
        self._taps = Taps(model, taps)
        # Inputs of a pass: the number of filled slots, then ids. The host buffer is overwritten
        # only after a round's synchronisation, when no copy to the device is in progress.
        self.input_buffer = torch.zeros(1 + PROMPT_WIDTHS[0], dtype=torch.long, device=self.device)
        self._host_buffer = torch.zeros(1 + MAX_PASS_TOKENS, dtype=torch.long)
        if self.device.type == "cuda":
            self._host_buffer = self._host_buffer.pin_memory()
        self._length = 0
        self._passes: dict[int, Callable[[], PassOutput]] = {}
        self._drafting: dict[tuple[int, Sampling], DraftPass] = {}
        self._prompts = {
            width: capture(partial(self._read_prompt, width), self.device)
            for width in PROMPT_WIDTHS
            if width < self.slots
        }

    @property
    def length(self) -> int:
        return self._length

    def ids(self, ids: Sequence[int]) -> Tensor:
        return upload(ids, self.device)

    def rollback(self, length: int) -> None:
        self._length = min(self._length, length)

    def prefill(self, ids: Sequence[int]) -> None:
        self._length = 0
        self._check_room(len(ids))
        prompt, self._prompt_taps = self.ids(ids), []
        for width in self._prompt_widths(len(ids)):
            piece = prompt[self._length : self._length + width]
            self.input_buffer[:1] = self._length
            self.input_buffer[1 : 1 + len(piece)] = piece
            if taps := self._prompts[width]():
                self._prompt_taps.append(joined(taps, len(piece)))
            self._length += len(piece)

    def prompt_taps(self) -> Tensor | None:
        """Tapped hidden states of the latest prompt [T, 3 · H]; None if there are no taps."""
        taps = self._taps.latest
        return torch.cat([joined(taps, 0), *self._prompt_taps]) if taps else None

    def _prompt_widths(self, tokens: int) -> Iterator[int]:
        for width in self._prompts:
            while tokens >= width or (width == SPLIT and tokens > 0):
                yield width
                tokens -= width

    def load(self, ids: Sequence[int], width: int) -> None:
        """Copy `ids` to the input of the next pass of `width` tokens, without synchronisation."""
        self._check_room(width)
        count = 1 + len(ids)
        self._host_buffer.numpy()[:count] = [self._length, *ids]
        self.input_buffer[:count].copy_(self._host_buffer[:count], non_blocking=True)

    def advance(self, tokens: int) -> None:
        """Advance the length by the tokens that a pass has cached."""
        self._length += tokens

    def pass_of(self, width: int) -> Callable[[], PassOutput]:
        """Return the captured pass over `width` ids of the input_buffer."""
        if width not in self._passes:
            self._passes[width] = capture(partial(self.run_from_buffer, width), self.device)
        return self._passes[width]

    def run_from_buffer(self, width: int) -> PassOutput:
        """Run the pass that `pass_of` captures."""
        if self.ranks > 1:
            dist.broadcast(self.input_buffer, src=0)
        base = self.input_buffer[:1]
        slots = base + torch.arange(width, device=self.device)
        logits = self.logits(self.input_buffer[1 : 1 + width], base, slots, width)
        return PassOutput.of(logits, self._taps.latest)

    def tree_pass(self, ancestors: Tensor) -> Callable[[], PassOutput]:
        """Return the captured pass over a root and nodes with the paths `ancestors` [T, T]."""
        width = len(ancestors)

        def read() -> PassOutput:
            if self.ranks > 1:
                dist.broadcast(self.input_buffer, src=0)
                dist.broadcast(ancestors.view(torch.uint8), src=0)
            base, ids = self.input_buffer[:1], self.input_buffer[None, 1 : 1 + width]
            positions = base + ancestors.sum(1) - 1
            logits = self._forward.logits(ids, base, positions, width, ancestors)
            return PassOutput.of(logits, self._taps.latest)

        return capture(read, self.device)

    def compaction(self, nodes: Tensor) -> Callable[[], object]:
        """Return a program that moves the nodes `nodes` [W] of the latest tree to its front."""
        move = Compaction(self._forward.caches())
        return capture(lambda: move(self.input_buffer[:1] + 1, nodes), self.device)

    def _read_prompt(self, width: int) -> tuple[Tensor, ...]:
        # Every rank has the prompt, so nothing needs to be sent.
        slots = self.input_buffer[:1] + torch.arange(width, device=self.device)
        self._forward.read(self.input_buffer[None, 1 : 1 + width], self.input_buffer[:1], slots)
        return self._taps.latest

    def reading(self, widest: int, sampling: Sampling) -> ReadPass:
        self.pass_of(1)
        self.pass_of(widest)

        def read(ids: Sequence[int], rows: int, generator: torch.Generator | None) -> Drawn:
            width = 1 if len(ids) == 1 else widest
            self.load(ids, width)
            found = self.pass_of(width)()
            self.advance(len(ids))
            last = slice(len(ids) - rows, len(ids))
            noise = sampling.noise((rows, self.vocab_size), self.device, generator)
            if noise is None:
                return found.statistics.choice[last], None
            return sampling.choose(found.logits[last], noise)

        return read

    def drafting(self, count: int, sampling: Sampling) -> DraftPass:
        key = (count, sampling)
        if key not in self._drafting:
            self._drafting[key] = CapturedDraft(self, count, sampling)
        return self._drafting[key]

    def logits(self, ids: Tensor, base: Tensor, slots: Tensor, rows: int) -> Tensor:
        """Return logits [rows, V] of the last of `ids` [T], in the model's dtype."""
        return self._forward.logits(ids[None], base, slots, rows)

    def _check_room(self, tokens: int) -> None:
        if self._length + tokens > self.slots:
            raise FlybenchError(
                f"{self._length + tokens} tokens do not fit in a cache of {self.slots}: "
                "lower task.max_new_tokens, or use engine=eager, whose cache grows."
            )
