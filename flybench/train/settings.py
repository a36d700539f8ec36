"""Settings of training and their checks, which need no PyTorch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flybench.config.checks import positive, share
from flybench.core.errors import FlybenchError

MIN_DRAFT_VOCAB = 64


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of training: `steps` of about `batch_tokens` each.

    Texts of more than `longest` tokens are left out. The drafter may propose `draft_vocab_size`
    ids. A fraction `held_out` of the prompts is held out, and `measured` of these are decoded after
    training.
    """

    draft_vocab_size: int = 8192
    steps: int = 2000
    lr: float = 6e-4
    batch_tokens: int = 16384
    longest: int = 1024
    held_out: float = 0.05
    measured: int = 20
    seed: int = 0
    save_every: int = 200

    def __post_init__(self) -> None:
        names = ("draft_vocab_size", "steps", "batch_tokens", "longest", "measured", "save_every")
        for name in names:
            positive(f"train.{name}", getattr(self, name))
        if not 0 < self.lr < math.inf:
            raise FlybenchError(f"train.lr={self.lr:g} is not allowed: use more than 0.")
        share("train.held_out", self.held_out)


@dataclass(frozen=True)
class HeadSettings(TrainingSettings):
    """Settings of a head. Training-time test runs `unroll` steps; step j has weight decay**j."""

    unroll: int = 4
    decay: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("train.unroll", self.unroll)
        if not self.decay > 0:
            raise FlybenchError(f"train.decay={self.decay:g} is not allowed: use more than 0.")
        if self.draft_vocab_size < MIN_DRAFT_VOCAB:
            raise FlybenchError(
                f"train.draft_vocab_size={self.draft_vocab_size} is not allowed: use at least "
                f"{MIN_DRAFT_VOCAB}, which drafting a tree requires."
            )


@dataclass(frozen=True)
class AnswerSettings:
    """Settings of the target's answers: the maximum length and the batch size."""

    max_new_tokens: int = 256
    batch: int = 64

    def __post_init__(self) -> None:
        positive("answers.max_new_tokens", self.max_new_tokens)
        positive("answers.batch", self.batch)
