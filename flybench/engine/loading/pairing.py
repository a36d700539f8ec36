"""Check that a token id means the same to both models of a pair.

Vocabularies may be padded to different sizes: logits are truncated to the ids of the tokenizer and
of both models. Models with different tokenizers are refused, with the first differing id.
"""

from __future__ import annotations

from transformers import PreTrainedTokenizerBase

from flybench.core.errors import FlybenchError


def check_same_tokens(target: PreTrainedTokenizerBase, draft: PreTrainedTokenizerBase) -> None:
    """Compare two tokenizers id by id.

    Raises:
        FlybenchError: some id spells differently, or one tokenizer has ids the other lacks.
    """
    theirs, ours = (_by_id(tokenizer) for tokenizer in (target, draft))
    for token_id in sorted(theirs.keys() | ours.keys()):
        if theirs.get(token_id) != ours.get(token_id):
            raise FlybenchError(
                f"Target and draft do not share a vocabulary: token id {token_id} is "
                f"{_spelling(theirs, token_id)} in the target and {_spelling(ours, token_id)} in "
                "the draft; choose a draft model from the target's family (drafting across "
                "tokenizers is not supported)."
            )


def shared_vocab_size(tokenizer: PreTrainedTokenizerBase, *model_sizes: int) -> int:
    """Return the number of ids that can be emitted, which the tokenizer and every model know.

    Raises:
        FlybenchError: a model has fewer rows than the tokenizer has ids. Added tokens past the end
            are fine: transformers adds one to some GGUF tokenizers that no weight belongs to.
    """
    added = tokenizer.get_added_vocab()
    trained = max(i for token, i in tokenizer.get_vocab().items() if token not in added) + 1
    known = max(_by_id(tokenizer)) + 1
    smallest = min(model_sizes)
    if smallest < trained:
        raise FlybenchError(
            f"The tokenizer has {trained} ids, but a model has only {smallest} logits: use "
            "a model with its own tokenizer."
        )
    return min(known, smallest)


def _by_id(tokenizer: PreTrainedTokenizerBase) -> dict[int, str]:
    return {token_id: token for token, token_id in tokenizer.get_vocab().items()}


def _spelling(vocabulary: dict[int, str], token_id: int) -> str:
    return repr(vocabulary[token_id]) if token_id in vocabulary else "missing"
