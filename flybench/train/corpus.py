"""Prompts with the target's answers as token ids, and batches of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from flybench.core.errors import FlybenchError


class Sample(NamedTuple):
    """A prompt and the target's answer to it; `domain` is the source of the prompt."""

    prompt: list[int]
    answer: list[int]
    domain: str


class Batch(NamedTuple):
    """Texts of different lengths: `ids` [B, T], padded with zeros; `answer` [B, T] bool masks the
    tokens of the answers."""

    ids: Tensor
    answer: Tensor


def write_corpus(path: Path, samples: Sequence[Sample]) -> None:
    """Write the samples, one JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(sample._asdict()) + "\n" for sample in samples))


def read_corpus(path: Path) -> list[Sample]:
    """Read a corpus that `write_corpus` wrote.

    Raises:
        FlybenchError: the file is missing or is not a corpus.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        found = [Sample(**json.loads(line)) for line in lines]
    except (OSError, ValueError, TypeError) as error:
        raise FlybenchError(
            f"{path} is not a corpus of answers ({type(error).__name__}): regenerate the "
            "answers with the target."
        ) from error
    if not found:
        raise FlybenchError(f"{path} is empty: generate answers with the target first.")
    return found


def split(samples: Sequence[Sample], held_out: float, seed: int) -> tuple[list[Sample], ...]:
    """Split samples into a training and a held-out part, without common prompts."""
    keys = sorted({tuple(sample.prompt) for sample in samples})
    random.Random(seed).shuffle(keys)
    kept_back = set(keys[: round(held_out * len(keys))])
    train = [sample for sample in samples if tuple(sample.prompt) not in kept_back]
    return train, [sample for sample in samples if tuple(sample.prompt) in kept_back]


def batches(samples: Sequence[Sample], tokens: int, seed: int) -> Iterator[Batch]:
    """Yield every sample once, in batches of about `tokens` tokens with texts of similar lengths.

    The order depends only on `seed`.
    """
    shuffled = list(samples)
    rng = random.Random(seed)
    rng.shuffle(shuffled)
    lengths = [len(sample.prompt) + len(sample.answer) for sample in shuffled]
    order = sorted(range(len(shuffled)), key=lambda i: lengths[i])
    groups: list[list[int]] = [[]]
    for place in order:
        if groups[-1] and (len(groups[-1]) + 1) * lengths[place] > tokens:
            groups.append([])
        groups[-1].append(place)
    rng.shuffle(groups)
    for group in groups:
        yield collate([shuffled[place] for place in group])


def collate(samples: Sequence[Sample]) -> Batch:
    """Return one batch of texts."""
    texts = [sample.prompt + sample.answer for sample in samples]
    width = max(map(len, texts))
    ids = torch.tensor([text + [0] * (width - len(text)) for text in texts])
    place = torch.arange(width)
    starts = torch.tensor([len(sample.prompt) for sample in samples])[:, None]
    ends = torch.tensor([len(text) for text in texts])[:, None]
    return Batch(ids, (place >= starts) & (place < ends))
