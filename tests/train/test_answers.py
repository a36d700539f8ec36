"""Batches of answers are the answers of plain decoding; corpora and vocabularies made of them."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch

from flybench.core.errors import FlybenchError
from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.eager.model import EagerTarget
from flybench.sampling import Sampling
from flybench.train.answers import BatchGenerator, answer_all, by_length
from flybench.train.corpus import Sample, batches, collate, read_corpus, split, write_corpus
from flybench.train.vocabulary import coverage, frequent
from tests.helpers import toys

PROMPTS = [
    [7 * i % 250 + n for i in range(length)] for n, length in enumerate((5, 40, 5, 33, 5, 1))
]


def test_batched_answers_are_those_of_plain_decoding() -> None:
    ends = [17, 40, 41, 42, 43, 44]  # often enough among 261 ids
    decoder = build_decoder(AR, EagerTarget(toys.eager("llama")), None, Sampling())
    stop = StopRule(frozenset(ends), 60)
    plain = [decoder.decode(prompt, stop).ids for prompt in PROMPTS]
    model = copy.deepcopy(toys.model("llama"))
    answerer = BatchGenerator(model, toys.VOCAB, 2, 40 + 60, Sampling())
    assert answer_all(answerer, PROMPTS, ends, 60, 2) == plain


def test_sampled_answers_repeat_with_their_seed() -> None:
    found = []
    for seed in (0, 0, 1):
        model = copy.deepcopy(toys.model("llama"))
        answerer = BatchGenerator(model, toys.VOCAB, 3, 60, Sampling(1.0), seed)
        found.append(answerer.answer(PROMPTS[:1], [], 20))
    assert found[0] == found[1] != found[2]


def test_prompts_of_one_length_share_batches() -> None:
    groups = list(by_length(PROMPTS, 2))
    assert sorted(place for group in groups for place in group) == list(range(len(PROMPTS)))
    assert groups[1:3] == [[0, 2], [4]]


SAMPLES = [Sample([1, 2], [3] * n, "a") for n in range(1, 9)] + [Sample([9], [4, 5], "b")]


def test_a_corpus_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_corpus(tmp_path / "x" / "corpus.jsonl", SAMPLES)
    assert read_corpus(tmp_path / "x" / "corpus.jsonl") == SAMPLES


@pytest.mark.parametrize("text", [None, "", "{}\n", "[1]\n", '{"prompt": [1]}\n'])
def test_what_is_no_corpus_is_one_sentence(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(FlybenchError) as caught:
        read_corpus(path)
    toys.assert_one_sentence(caught.value, "corpus.jsonl")


def test_a_prompt_is_held_out_with_all_its_answers() -> None:
    samples = [Sample([n], [n, extra], "a") for n in range(100) for extra in (0, 1)]
    train, held_out = split(samples, 0.1, seed=3)
    assert (len(train), len(held_out)) == (180, 20)
    assert not {s.prompt[0] for s in train} & {s.prompt[0] for s in held_out}
    assert split(samples, 0.1, seed=3)[1] == held_out


def test_batches_hold_every_sample_once_and_repeat() -> None:
    found = list(batches(SAMPLES, 20, seed=1))
    assert sum(len(batch.ids) for batch in found) == len(SAMPLES)
    # A text that alone is longer has a batch to itself.
    assert all(batch.ids.numel() <= 20 or len(batch.ids) == 1 for batch in found)
    assert len(found) > 1
    again = list(batches(SAMPLES, 20, seed=1))
    assert all(torch.equal(a.ids, b.ids) for a, b in zip(found, again, strict=True))


def test_the_answer_is_marked_and_the_filling_is_not() -> None:
    ids, answer = collate([Sample([1, 2], [3], "a"), Sample([4], [5, 6, 7, 8], "a")])
    assert ids.tolist() == [[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]]
    assert answer.tolist() == [[False, False, True, False, False], [False, True, True, True, True]]


def test_the_frequent_ids_cover_most_of_the_text() -> None:
    texts = [[5, 5, 5, 2], [2, 9, 5, 7]]
    found = frequent(texts, 3, 12)
    assert found.ids.tolist() == [2, 5, 7]
    assert found.coverage == 7 / 8
    assert (torch.arange(3) + found.d2t).tolist() == [2, 5, 7]
    assert coverage(found.ids, [[5, 9], [2, 1]]) == 0.5
