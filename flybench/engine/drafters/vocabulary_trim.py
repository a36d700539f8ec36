"""A draft model that scores only frequent ids, because the LM head dominates a small model.

Source: VocabTrim (arXiv 2506.22694). Other ids are never proposed, but the target still emits them:
a lossless rule stays lossless.
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
    """Return the first `size` ids and the special ones; tokenizers number frequent merges first."""
    special = [token for token in tokenizer.all_special_ids if token < vocab_size]
    return torch.tensor(sorted({*range(min(size, vocab_size)), *special}))


def trim_output(model: PreTrainedModel, ids: Tensor) -> PreTrainedModel:
    """Restrict the output layer of `model`, in place, to `ids`.

    Raises:
        FlybenchError: its output layer is not a plain linear layer.
    """
    output: Any = model.get_output_embeddings()
    if type(output) is not nn.Linear:
        raise FlybenchError(
            f"The output layer of {type(model).__name__} is a {type(output).__name__}, which "
            "vocab_trim cannot restrict: remove vocab_trim."
        )
    model.set_output_embeddings(TrimmedOutput(output, ids.to(output.weight.device)))
    return model
