"""A trimmed draft model: the same logits where it has any, and drafts of frequent ids alone."""

from __future__ import annotations

import copy

import pytest
import torch

from flybench.config import DraftConfig, EngineConfig, MethodConfig, ModelConfig, ModelRef
from flybench.core.errors import FlybenchError
from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.cost.footprint import footprint
from flybench.engine.drafters.vocabulary_trim import frequent_ids, trim_output
from flybench.engine.eager.model import EagerTarget
from flybench.engine.loading.description import describe_pair
from flybench.engine.loading.load import load_pair
from flybench.sampling import Sampling
from tests.helpers import toys

SPD = MethodConfig("spd", 5, DraftConfig.of("model"))


def test_the_first_ids_and_the_special_ones_stay() -> None:
    tokenizer = toys.byte_tokenizer()
    ids = frequent_ids(tokenizer, 50, toys.VOCAB).tolist()
    assert ids == [*range(50), *sorted(tokenizer.all_special_ids)]
    assert len(frequent_ids(tokenizer, 9999, toys.VOCAB)) == toys.VOCAB


def test_logits_are_the_same_where_there_are_any() -> None:
    ids, text = torch.tensor([3, 9, 200]), torch.tensor([[1, 2, 3]])
    whole = toys.model("llama")
    trimmed = trim_output(copy.deepcopy(whole), ids)
    plain, ours = (model(text).logits[0] for model in (whole, trimmed))
    torch.testing.assert_close(ours[:, ids], plain[:, ids])
    assert ours.isneginf().sum() == 3 * (toys.VOCAB - len(ids))
    before, after = (footprint(model).weight_bytes for model in (whole, trimmed))
    assert before is not None
    assert after is not None
    # Fewer rows of 64 numbers; the ids themselves are read too.
    assert before - after == (toys.VOCAB - len(ids)) * 64 * 4 - 3 * 8


@pytest.mark.parametrize("kind", ["eager", pytest.param("graph", marks=pytest.mark.slow)])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.8)], ids=["greedy", "sampled"])
def test_a_trimmed_draft_changes_no_lossless_answer(
    kind: str, sampling: Sampling, prompt_ids: list[int]
) -> None:
    draft = ModelRef("random:llama", skip_layers=(1, 2), vocab_trim=100)
    config = ModelConfig("trimmed", ModelRef("random:llama"), draft)
    infos = describe_pair(config, with_draft=True)
    pair = load_pair(*infos, EngineConfig(kind, device="cpu"), 512)
    decoder = build_decoder(SPD, pair.target, pair.draft, sampling)
    found = decoder.decode(prompt_ids, StopRule(frozenset(), 60), 1)
    assert len(found.ids) == 60
    if sampling.greedy:
        plain = build_decoder(AR, EagerTarget(toys.eager("llama")), None, sampling)
        assert found.ids == plain.decode(prompt_ids, StopRule(frozenset(), 60)).ids
        accepted = [r.accepted for r in found.rounds]
        assert max(accepted) > 0


def test_an_output_layer_of_another_kind_is_refused() -> None:
    model = copy.deepcopy(toys.model("llama"))
    trim_output(model, torch.arange(5))
    with pytest.raises(FlybenchError) as caught:
        trim_output(model, torch.arange(5))
    toys.assert_one_sentence(caught.value, "TrimmedOutput", "remove vocab_trim")


def test_a_target_is_not_trimmed() -> None:
    with pytest.raises(FlybenchError) as caught:
        ModelConfig("m", ModelRef("random:llama", vocab_trim=10))
    toys.assert_one_sentence(caught.value, "model.target.vocab_trim=10", "model.draft.vocab_trim")
