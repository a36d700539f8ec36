"""The eager engine's cache: rolling back and reading on equals reading afresh."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from flybench.core.drafts import Branches, Draft
from flybench.core.errors import FlybenchError
from flybench.engine.eager import model as eager
from flybench.engine.eager.model import EagerModel, EagerTarget
from tests.helpers import toys

TEXT = torch.randint(0, toys.VOCAB, (90,), generator=torch.Generator().manual_seed(1)).tolist()
OTHER = torch.randint(0, toys.VOCAB, (90,), generator=torch.Generator().manual_seed(2)).tolist()


def whole(arch: str, ids: list[int]) -> Tensor:
    """Logits [T, V] of one pass over the text, without any cache."""
    with torch.inference_mode():
        return toys.model(arch)(torch.tensor([ids]), use_cache=False).logits[0]


def close(ours: Tensor, theirs: Tensor) -> bool:
    """Equal up to 1e-5 of the largest logit, which is what fp32 can promise."""
    error = (ours - theirs).abs().max() / theirs.abs().max()
    return ours.shape == theirs.shape and float(error) <= 1e-5


def test_reading_in_pieces_equals_reading_at_once(arch: str) -> None:
    model = toys.eager(arch)
    rows = []
    for start, end in ((0, 1), (1, 40), (40, 41), (41, 47), (47, 90)):
        rows.append(model.extend(model.ids(TEXT[start:end]), rows=end - start))
        assert model.length == end
    assert close(torch.cat(rows), whole(arch, TEXT))


@pytest.mark.parametrize("keep", [0, 1, 20, 31, 32, 33, 60, 89])
def test_rollback_then_extend_equals_reading_afresh(arch: str, keep: int) -> None:
    """For gemma3 this reaches beyond its sliding window of 32 tokens, on either side of it."""
    model = toys.eager(arch)
    model.extend(model.ids(TEXT), rows=0)
    model.rollback(keep)
    assert model.length == keep
    text = TEXT[:keep] + OTHER[keep:]
    assert close(model.extend(model.ids(text[keep:]), rows=90 - keep), whole(arch, text)[keep:])


def test_many_rollbacks_leave_no_trace(arch: str) -> None:
    model = toys.eager(arch)
    model.extend(model.ids(TEXT[:40]), rows=0)
    for end in range(41, 80):
        model.extend(model.ids(OTHER[end : end + 5]), rows=1)
        model.rollback(end - 1)
        logits = model.extend(model.ids(TEXT[end - 1 : end]), rows=1)
    assert close(logits, whole(arch, TEXT[:79])[-1:])


def test_a_sliding_window_hides_what_lies_before_it() -> None:
    """The control for the tests above: gemma3 does have a window, and it is shorter than TEXT."""
    changed = [OTHER[0], *TEXT[1:]]
    assert not close(whole("gemma3", changed)[31], whole("gemma3", TEXT)[31])
    config = toys.model("gemma3").config
    assert config.sliding_window == 32
    assert "sliding_attention" in config.layer_types
    layers = config.num_hidden_layers
    assert len(TEXT) > config.sliding_window + layers


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_only_the_last_rows_come_back(arch: str, rows: int) -> None:
    model = toys.eager(arch)
    logits = model.extend(model.ids(TEXT[:10]), rows=rows)
    assert logits.shape == (rows, toys.VOCAB)
    assert logits.dtype == torch.float32
    if rows:
        assert close(logits, whole(arch, TEXT[:10])[-rows:])


def test_reading_nothing_changes_nothing() -> None:
    model = toys.eager("llama")
    model.extend(model.ids(TEXT[:5]), rows=0)
    assert model.extend(model.ids([]), rows=0).shape == (0, toys.VOCAB)
    assert model.length == 5


@pytest.mark.parametrize("length", [5, 6, 100])
def test_rolling_back_to_the_end_or_beyond_changes_nothing(length: int) -> None:
    model = toys.eager("llama")
    model.extend(model.ids(TEXT[:5]), rows=0)
    model.rollback(length)
    assert model.length == 5
    assert close(model.extend(model.ids(TEXT[5:6]), rows=1), whole("llama", TEXT[:6])[-1:])


def test_reset_forgets_everything() -> None:
    model = toys.eager("llama")
    model.extend(model.ids(OTHER), rows=0)
    model.reset()
    assert model.length == 0
    assert close(model.extend(model.ids(TEXT[:4]), rows=4), whole("llama", TEXT[:4]))


def test_two_caches_of_one_model_are_independent() -> None:
    first, second = toys.eager("llama"), toys.eager("llama")
    first.extend(first.ids(OTHER[:9]), rows=0)
    second.extend(second.ids(TEXT[:3]), rows=0)
    assert (first.length, second.length) == (9, 3)
    logits = second.extend(second.ids(TEXT[3:4]), rows=1)
    assert close(logits, whole("llama", TEXT[:4])[-1:])


def test_logits_are_cut_to_the_shared_vocabulary() -> None:
    model = EagerModel(toys.model("llama"), 200)
    logits = model.extend(model.ids(TEXT[:3]), rows=2)
    assert logits.shape == (2, 200)
    assert close(logits, whole("llama", TEXT[:3])[-2:, :200])


@pytest.mark.parametrize("kept", [0, 1, 3, 5])
def test_commit_keeps_the_root_and_the_accepted_nodes(arch: str, kept: int) -> None:
    target = EagerTarget(toys.eager(arch))
    target.prefill(TEXT[:39])
    drafted = OTHER[40:45]
    view = target.score(TEXT[39], Draft.chain(torch.tensor(drafted)))
    assert close(view.logits, whole(arch, TEXT[:40] + drafted)[39:])
    target.commit(list(range(kept)))
    committed = TEXT[:40] + drafted[:kept]
    view = target.score(7, Draft.chain(torch.tensor([8, 9])))
    assert close(view.logits, whole(arch, [*committed, 7, 8, 9])[-3:])


def test_an_empty_draft_scores_the_root_alone(arch: str) -> None:
    target = EagerTarget(toys.eager(arch))
    target.prefill(TEXT[:9])
    view = target.score(TEXT[9], Draft.chain(torch.empty(0, dtype=torch.long)))
    assert close(view.logits, whole(arch, TEXT[:10])[-1:])


def test_prefill_starts_cold() -> None:
    target = EagerTarget(toys.eager("llama"))
    target.prefill(OTHER)
    target.score(1, Draft.chain(torch.tensor([2, 3])))
    target.prefill([])
    view = target.score(TEXT[0], Draft.chain(torch.tensor(TEXT[1:3])))
    assert close(view.logits, whole("llama", TEXT[:3]))


def test_state_that_cannot_be_rolled_back_is_refused() -> None:
    config = SimpleNamespace(
        get_text_config=lambda: SimpleNamespace(
            layer_types=["full_attention", "mamba", "linear_attention"]
        )
    )
    with pytest.raises(FlybenchError) as caught:
        EagerModel(SimpleNamespace(config=config), 10)  # type: ignore[arg-type]
    toys.assert_one_sentence(
        caught.value, "linear_attention, mamba", "choose a model that has only attention layers"
    )


TREE = torch.tensor([-1, -1, 0, 0, 1, 4, 5])


@pytest.mark.parametrize("path", [[], [0], [0, 3], [1, 4, 5, 6]])
def test_a_tree_is_scored_as_its_paths_are(arch: str, path: list[int]) -> None:
    """And what is kept of it reads on as if nothing else had been there; beyond gemma3's window."""
    target, drafted = EagerTarget(toys.eager(arch)), OTHER[: len(TREE)]
    branches = Branches.of(TREE)
    target.prefill(TEXT[:60])
    view = target.score(TEXT[60], Draft(torch.tensor(drafted), TREE, branches=branches))
    for node, ancestors in enumerate(branches.ancestors):
        text = [*TEXT[:61], *(drafted[at] for at in ancestors.nonzero()[:, 0].tolist())]
        assert close(view.logits[node + 1 : node + 2], whole(arch, text)[-1:])
    target.commit(path)
    text = [*TEXT[:61], *(drafted[node] for node in path), *OTHER[20:23]]
    again = target.score(OTHER[20], Draft.chain(torch.tensor(OTHER[21:23])))
    assert close(again.logits, whole(arch, text)[-3:])


def test_a_long_prompt_is_read_in_pieces_with_its_taps(
    arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tapped = EagerTarget(EagerModel(toys.model(arch), toys.VOCAB, (1, 2, 3)))
    at_once = tapped.prefill(TEXT)
    widths: list[int] = []
    extend = EagerModel.extend

    def counted(self: EagerModel, ids: Tensor, rows: int, *tree: Tensor) -> Tensor:
        widths.append(len(ids))
        return extend(self, ids, rows, *tree)

    monkeypatch.setattr(EagerModel, "extend", counted)
    monkeypatch.setattr(eager, "PIECE", 40)
    in_pieces = tapped.prefill(TEXT)
    assert widths == [40, 40, 10]
    assert at_once is not None
    assert in_pieces is not None
    assert close(in_pieces, at_once)
    assert close(
        tapped.score(5, Draft.chain(torch.tensor([6]))).logits, whole(arch, [*TEXT, 5, 6])[-2:]
    )
