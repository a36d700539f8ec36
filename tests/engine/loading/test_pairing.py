"""Two models pair when every id spells the same in both; sizes may be padded."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from flybench.core.errors import FlybenchError
from flybench.engine.loading.pairing import check_same_tokens, shared_vocab_size
from flybench.engine.loading.random_models import byte_tokenizer
from tests.helpers.toys import assert_one_sentence


def words(*spellings: str) -> PreTrainedTokenizerFast:
    vocabulary = {word: index for index, word in enumerate(spellings)}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(vocabulary)))


def test_identical_tokenizers_pair() -> None:
    check_same_tokens(byte_tokenizer(), byte_tokenizer())
    check_same_tokens(words("a", "b"), words("a", "b"))


def test_the_first_differing_id_is_named() -> None:
    with pytest.raises(FlybenchError) as caught:
        check_same_tokens(words("a", "b", "c", "d"), words("a", "x", "c", "y"))
    assert_one_sentence(
        caught.value, "token id 1 ", "'b' in the target", "'x' in the draft", "choose a draft model"
    )


def test_swapped_ids_are_a_difference() -> None:
    with pytest.raises(FlybenchError, match="token id 1 is 'b' in the target and 'c' in the draft"):
        check_same_tokens(words("a", "b", "c"), words("a", "c", "b"))


def test_an_id_that_one_tokenizer_lacks_is_named() -> None:
    with pytest.raises(FlybenchError) as caught:
        check_same_tokens(words("a", "b"), words("a", "b", "c"))
    assert_one_sentence(caught.value, "token id 2 is missing in the target and 'c' in the draft")
    with pytest.raises(FlybenchError) as caught:
        check_same_tokens(words("a", "b", "c"), words("a", "b"))
    assert_one_sentence(caught.value, "token id 2 is 'c' in the target and missing in the draft")


def test_added_special_tokens_count() -> None:
    other = byte_tokenizer()
    other.add_special_tokens({"additional_special_tokens": ["<|tool|>"]})
    with pytest.raises(FlybenchError, match="token id 261 is missing in the target"):
        check_same_tokens(byte_tokenizer(), other)


@pytest.mark.parametrize("sizes", [(261,), (261, 261), (512, 261), (300, 320), (320, 300)])
def test_padded_vocabularies_are_cut_to_the_known_ids(sizes: tuple[int, ...]) -> None:
    assert shared_vocab_size(byte_tokenizer(), *sizes) == 261


def test_an_added_token_without_a_row_is_cut_off() -> None:
    assert shared_vocab_size(byte_tokenizer(), 260) == 260


@pytest.mark.parametrize("sizes", [(255,), (512, 200), (200, 512)])
def test_a_model_with_fewer_rows_than_ids_is_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(FlybenchError) as caught:
        shared_vocab_size(byte_tokenizer(), *sizes)
    assert_one_sentence(caught.value, "256 ids", f"only {min(sizes)} logits", "its own tokenizer")


def test_gaps_in_the_ids_do_not_shrink_the_vocabulary() -> None:
    sparse = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"a": 0, "b": 9}, unk_token="a"))
    )
    assert shared_vocab_size(sparse, 16) == 10
