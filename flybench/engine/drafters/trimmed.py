"""A draft model that scores frequent ids alone: its output layer is most of what a small one reads.

Source: VocabTrim (arXiv 2506.22694). Ids outside are never proposed; the target still emits them,
so that a lossless rule stays lossless.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from flybench.core.errors import FlybenchError


class TrimmedOutput(nn.Module):
    """Logits over the whole vocabulary, minus infinity for all but `ids` [V_d]."""

    ids: Tensor

    def __init__(self, output: nn.Linear, ids: Tensor) -> None:
        super().__init__()
        rows = output.weight.data[ids]
        self.vocab_size = output.weight.shape[0]
        self.rows = nn.Linear(rows.shape[1], len(ids), bias=output.bias is not None, device="meta")
        self.rows.weight = nn.Parameter(rows, requires_grad=False)
        if output.bias is not None:
            self.rows.bias = nn.Parameter(output.bias.data[ids], requires_grad=False)
        self.register_buffer("ids", ids)

    def forward(self, x: Tensor) -> Tensor:
        scored = self.rows(x)
        everything = scored.new_full((*x.shape[:-1], self.vocab_size), -torch.inf)
        return everything.index_copy(-1, self.ids, scored)


def frequent_ids(tokenizer: PreTrainedTokenizerBase, size: int, vocab_size: int) -> Tensor:
    """The first `size` ids and the special ones: tokenizers number their merges as they are made,
    the most frequent first."""
    special = [token for token in tokenizer.all_special_ids if token < vocab_size]
    return torch.tensor(sorted({*range(min(size, vocab_size)), *special}))


def trim_output(model: PreTrainedModel, ids: Tensor) -> PreTrainedModel:
    """Restrict `model`, in place, to proposing `ids`.

    Raises:
        FlybenchError: its output layer is not a plain one.
    """
    output: Any = model.get_output_embeddings()
    if type(output) is not nn.Linear:
        raise FlybenchError(
            f"The output layer of {type(model).__name__} is a {type(output).__name__}, which "
            "vocab_trim cannot restrict: remove vocab_trim."
        )
    model.set_output_embeddings(TrimmedOutput(output, ids.to(output.weight.device)))
    return model
