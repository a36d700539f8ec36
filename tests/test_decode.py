"""The decode loop: lossless methods equal plain decoding, and what every round promises."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from scipy.stats import chisquare
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import PreTrainedTokenizerFast

from flybench.config import DraftConfig, MethodConfig, VerifyConfig
from flybench.core.samples import Generation
from flybench.core.verdicts import Verdict
from flybench.decode import AR, Decoder, StopRule, build_decoder
from flybench.draft.base import Drafter
from flybench.engine.base import CachedModel, Drawn, ReadPass
from flybench.engine.drafters.layer_skip import without_layers
from flybench.engine.eager.model import EagerModel, EagerTarget
from flybench.measure.clock import Clock
from flybench.sampling import Sampling
from flybench.verify.base import Verifier
from flybench.verify.exact import ExactVerifier
from flybench.verify.fly import FlyVerifier
from tests.helpers import toys
from tests.helpers.lanes import fast_only
from tests.oracles.stop import truncate

SPD = MethodConfig("spd", 5, DraftConfig.of("model"))
LOOKUP = MethodConfig("lookup", 10, DraftConfig.of("lookup"))
FLY = MethodConfig("fly", 15, DraftConfig.of("nested"), VerifyConfig.of("fly"))
FLY_EXACT = MethodConfig(
    "fly", 15, DraftConfig.of("nested"), VerifyConfig.of("fly", theta=math.inf)
)
LOSSLESS = {"spd": SPD, "lookup": LOOKUP, "fly theta=inf": FLY_EXACT}
METHODS = {"ar": AR, **LOSSLESS, "fly": FLY}
GREEDY = Sampling()
EOS = toys.byte_tokenizer().eos_token_id

Counts = list[tuple[int, int, int, int, str]]


def capped(tokens: int) -> StopRule:
    return StopRule(frozenset(), tokens)


def answer(
    method: MethodConfig,
    target: EagerTarget,
    arch: str,
    prompt: Sequence[int],
    stop: StopRule,
    sampling: Sampling = GREEDY,
    seed: int = 0,
) -> Generation:
    draft = toys.near(arch) if method.needs_draft_model else None
    return build_decoder(method, target, draft, sampling).decode(prompt, stop, seed)


def counts(generation: Generation) -> Counts:
    """Everything of the rounds but their times."""
    return [(r.drafted, r.accepted, r.loose, r.emitted, r.outcomes) for r in generation.rounds]


def decoder_with(
    target: EagerTarget, drafter: Drafter, k: int = 5, verifier: Verifier | None = None
) -> Decoder:
    clock = Clock(target.device)
    return Decoder(target, drafter, verifier or ExactVerifier(), k, GREEDY, clock)


# --- Lossless methods ---------------------------------------------------------------------------


def test_plain_decoding_equals_transformers_generate(
    arch: str, prompt_ids: list[int], ar_answer: Generation
) -> None:
    model = toys.model(arch)
    ids = torch.tensor([prompt_ids])
    endless = {"eos_token_id": toys.VOCAB, "max_new_tokens": 80, "do_sample": False}
    output = model.generate(ids, attention_mask=torch.ones_like(ids), **endless)
    assert ar_answer.ids[:80] == output[0, len(prompt_ids) :].tolist()


def test_the_plain_answer_is_worth_comparing_with(ar_answer: Generation) -> None:
    assert len(ar_answer.ids) == len(ar_answer.rounds) == toys.ANSWER_TOKENS
    assert len(set(ar_answer.ids)) > 30, "a loop of few tokens would hide differences"
    assert counts(ar_answer) == [(0, 0, 0, 1, "")] * toys.ANSWER_TOKENS


@pytest.mark.parametrize("method", LOSSLESS.values(), ids=LOSSLESS)
def test_lossless_method_emits_the_plain_answer(
    method: MethodConfig,
    target: EagerTarget,
    arch: str,
    prompt_ids: list[int],
    ar_answer: Generation,
) -> None:
    generation = answer(method, target, arch, prompt_ids, capped(toys.ANSWER_TOKENS))
    assert generation.ids == ar_answer.ids
    assert len(generation.rounds) < toys.ANSWER_TOKENS, (
        "no draft was ever accepted, so that nothing was tested"
    )


def test_an_unrelated_draft_model_changes_nothing(
    target: EagerTarget, arch: str, prompt_ids: list[int], ar_answer: Generation
) -> None:
    method = MethodConfig("spd", 2, DraftConfig.of("model"))
    decoder = build_decoder(method, target, toys.eager(f"{arch}:9"), GREEDY)
    assert decoder.decode(prompt_ids, capped(100)).ids == ar_answer.ids[:100]


Script = Callable[[Sequence[int], int], list[int]]


def adversaries(prompt: list[int], plain: list[int]) -> dict[str, Script]:
    rng = random.Random(0)

    def right(context: Sequence[int], limit: int) -> list[int]:
        return plain[len(context) - len(prompt) :][:limit]

    return {
        "right": right,
        "wrong": lambda context, limit: [(t + 1) % toys.VOCAB for t in right(context, limit)],
        "right then wrong": lambda context, limit: [*right(context, limit - 1), 0],
        "eos": lambda context, limit: [EOS] * limit,
        "empty": lambda context, limit: [],
        "random": lambda context, limit: [
            rng.choice([rng.randrange(toys.VOCAB), *right(context, 1)])
            for _ in range(rng.randint(0, limit))
        ],
    }


@pytest.mark.parametrize("name", ["right", "wrong", "right then wrong", "eos", "empty", "random"])
def test_adversarial_drafts_change_nothing(
    name: str, target: EagerTarget, prompt_ids: list[int], ar_answer: Generation
) -> None:
    drafter = toys.ScriptedDrafter(adversaries(prompt_ids, ar_answer.ids)[name])
    generation = decoder_with(target, drafter).decode(prompt_ids, capped(toys.ANSWER_TOKENS))
    assert generation.ids == ar_answer.ids
    assert generation.margins == pytest.approx(ar_answer.margins, abs=1e-3)
    rounds = {
        "right": toys.ANSWER_TOKENS // 6,
        "wrong": toys.ANSWER_TOKENS,
        "empty": toys.ANSWER_TOKENS,
    }
    assert len(generation.rounds) == rounds.get(name, len(generation.rounds))


@pytest.mark.parametrize("name", ["right then wrong", "eos", "random"])
def test_adversarial_drafts_change_nothing_under_fly_without_looseness(
    name: str, target: EagerTarget, prompt_ids: list[int], ar_answer: Generation
) -> None:
    drafter = toys.ScriptedDrafter(adversaries(prompt_ids, ar_answer.ids)[name])
    verifier = FlyVerifier("official", math.inf, 2)
    generation = decoder_with(target, drafter, 7, verifier).decode(prompt_ids, capped(100))
    assert generation.ids == ar_answer.ids[:100]


def test_an_eos_draft_ends_the_answer_only_where_the_target_agrees(
    target: EagerTarget, prompt_ids: list[int], ar_answer: Generation
) -> None:
    drafter = toys.ScriptedDrafter(lambda context, limit: [EOS] * limit)
    generation = decoder_with(target, drafter).decode(prompt_ids, StopRule(frozenset({EOS}), 60))
    assert generation.ids == truncate(ar_answer.ids, {EOS}, 60, (), str)[0]


@pytest.mark.parametrize("run", [(1, 2), (1, 3), (2, 3)])
def test_skipped_layers_change_nothing(
    run: tuple[int, int],
    target: EagerTarget,
    arch: str,
    prompt_ids: list[int],
    ar_answer: Generation,
) -> None:
    draft = EagerModel(without_layers(toys.model(arch), *run), toys.VOCAB)
    generation = build_decoder(SPD, target, draft, GREEDY).decode(prompt_ids, capped(60))
    assert generation.ids == ar_answer.ids[:60]


@pytest.mark.parametrize("method", [SPD, FLY], ids=["spd", "fly"])
def test_the_target_as_its_own_draft_is_accepted_whole(
    method: MethodConfig, target: EagerTarget, arch: str, prompt_ids: list[int]
) -> None:
    tokens = 8 * (method.k + 1)
    decoder = build_decoder(method, target, toys.eager(arch), GREEDY)
    generation = decoder.decode(prompt_ids, capped(tokens))
    assert tokens / len(generation.rounds) > 0.95 * (method.k + 1)


def test_fly_keeps_tokens_that_the_target_would_not_choose(
    target: EagerTarget, arch: str, prompt_ids: list[int], ar_answer: Generation
) -> None:
    """Without a gate; otherwise nothing here would show that looseness reaches the answer."""
    method = MethodConfig(
        "fly",
        15,
        DraftConfig.of("nested"),
        VerifyConfig.of("fly", rule="paper", theta=0.0, window=2),
    )
    generation = answer(method, target, arch, prompt_ids, capped(toys.ANSWER_TOKENS))
    assert sum(r.loose for r in generation.rounds) > 0
    assert generation.ids != ar_answer.ids


# --- Invariants of a round ----------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_caches_never_lead_the_committed_text(
    method: MethodConfig, temperature: float, prompt_ids: list[int]
) -> None:
    model, draft = toys.eager("llama"), toys.near("llama")
    decoder = build_decoder(method, EagerTarget(model), draft, Sampling(temperature))
    rounds = []

    def check(committed: int) -> None:
        assert model.length == committed - 1
        assert draft.length < committed
        rounds.append(committed)

    watched = toys.WatchedDrafter(decoder.drafter, check)
    decoder = Decoder(
        decoder.target, watched, decoder.verifier, decoder.k, decoder.sampling, decoder.clock
    )
    generation = decoder.decode(prompt_ids, capped(50))
    assert len(rounds) == len(generation.rounds)
    assert rounds[-1] == len(prompt_ids) + 50


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("cap", [1, 2, 61])
def test_counts_add_up(
    method: MethodConfig, cap: int, target: EagerTarget, arch: str, prompt_ids: list[int]
) -> None:
    generation = answer(method, target, arch, prompt_ids, capped(cap))
    *whole, last = generation.rounds
    assert all(r.emitted == r.accepted + 1 for r in whole)
    assert last.emitted in (last.accepted, last.accepted + 1)
    truncated = last.emitted == last.accepted
    accepted = sum(r.accepted for r in generation.rounds)
    assert len(generation.ids) == accepted + len(generation.rounds) - truncated
    assert len(generation.ids) == sum(r.emitted for r in generation.rounds) == cap
    assert len(generation.margins) == cap
    for r in generation.rounds:
        assert r.loose <= r.accepted <= r.drafted == len(r.outcomes) <= method.k
    for r in whole:
        assert sum(r.outcomes.count(code) for code in "els") == r.accepted
        assert r.outcomes.count("l") == r.loose


@pytest.mark.parametrize("cap", range(1, 9))
def test_a_cap_inside_an_accepted_block_truncates_the_round(
    cap: int, prompt_ids: list[int]
) -> None:
    target = EagerTarget(toys.eager("llama"))
    plain = build_decoder(AR, target, None, GREEDY).decode(prompt_ids, capped(12)).ids
    drafter = toys.ScriptedDrafter(adversaries(prompt_ids, plain)["right"])
    generation = decoder_with(target, drafter, k=3).decode(prompt_ids, capped(cap))
    assert generation.ids == plain[:cap]
    # Each round drafts three and emits four, of which only the kept ones are counted.
    expected = [(min(3, size), size) for size in [4] * (cap // 4) + [cap % 4] * (cap % 4 > 0)]
    assert [(r.accepted, r.emitted) for r in generation.rounds] == expected


def test_an_empty_draft_is_one_plain_step(
    target: EagerTarget, prompt_ids: list[int], ar_answer: Generation
) -> None:
    drafter = toys.ScriptedDrafter(lambda context, limit: [])
    generation = decoder_with(target, drafter).decode(prompt_ids, capped(40))
    assert generation.ids == ar_answer.ids[:40]
    assert generation.margins == ar_answer.margins[:40]
    assert counts(generation) == counts(ar_answer)[:40]


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_asking_twice_answers_alike_whatever_came_between(
    method: MethodConfig, temperature: float, prompt_ids: list[int]
) -> None:
    target, draft = EagerTarget(toys.eager("gemma3")), toys.near("gemma3")
    decoder = build_decoder(method, target, draft, Sampling(temperature))
    first = decoder.decode(prompt_ids, capped(40), seed=3)
    decoder.decode(first.ids + prompt_ids, capped(11), seed=4)
    again = decoder.decode(prompt_ids, capped(40), seed=3)
    assert again.ids == first.ids
    assert counts(again) == counts(first)
    assert again.margins == first.margins


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_seed_decides_a_sampled_answer(method: MethodConfig, prompt_ids: list[int]) -> None:
    target = EagerTarget(toys.eager("llama"))
    answers = [
        answer(method, target, "llama", prompt_ids, capped(20), Sampling(1.0), seed).ids
        for seed in (1, 1, 2)
    ]
    assert answers[0] == answers[1] != answers[2]


def test_a_prompt_of_one_token_can_be_answered(target: EagerTarget, arch: str) -> None:
    plain = answer(AR, target, arch, [7], capped(10)).ids
    assert len(plain) == 10
    for method in LOSSLESS.values():
        assert answer(method, target, arch, [7], capped(10)).ids == plain


def test_times_are_positive_and_ordered(prompt_ids: list[int]) -> None:
    target = EagerTarget(toys.eager("llama"))
    generation = answer(SPD, target, "llama", prompt_ids, capped(20))
    assert 0 < generation.prefill_s < generation.first_token_s < generation.total_s
    assert generation.prompt_tokens == len(prompt_ids)
    phases = sum(r.draft_s + r.verify_s + r.other_s for r in generation.rounds)
    assert all(min(r.draft_s, r.verify_s, r.other_s) >= 0 for r in generation.rounds)
    assert 0 < phases <= generation.decode_s
    assert phases > 0.9 * generation.decode_s


def test_margins_are_the_target_top_two_gaps(
    target: EagerTarget, arch: str, prompt_ids: list[int], ar_answer: Generation
) -> None:
    ids = torch.tensor([prompt_ids + ar_answer.ids[:30]])
    with torch.inference_mode():
        logits = toys.model(arch)(ids).logits[0, len(prompt_ids) - 1 : -1]
    top = logits.topk(2).values
    expected = (top[:, 0] - top[:, 1]).tolist()
    generation = answer(SPD, target, arch, prompt_ids, capped(30))
    assert generation.margins == pytest.approx(expected, abs=1e-3)


# --- One synchronisation a round ----------------------------------------------------------------

WAITING = {
    "_local_scalar_dense", "item", "is_nonzero", "equal", "allclose", "nonzero", "argwhere",
    "masked_select", "unique_dim", "unique_consecutive", "_unique2", "bincount", "multinomial",
}  # fmt: skip
# The forms of two operators whose result's size depends on what a tensor holds.
SIZED_BY_DATA = {"aten::where", "aten::repeat_interleave.self_Tensor"}


class NoWaiting(TorchDispatchMode):
    """Collects the operators that would wait for an accelerator to finish."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.name().split("::")[-1].split(".")[0]
        by_mask = name == "index" and any(t is not None and t.dtype == torch.bool for t in args[1])
        if name in WAITING or func.name() in SIZED_BY_DATA or by_mask:
            self.seen.append(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "wait",
    [
        lambda t: t.sum().item(),
        lambda t: bool(t[0] > 0),
        lambda t: t.nonzero(),
        lambda t: t[t > 0],
        lambda t: torch.where(t > 0),
        lambda t: torch.equal(t, t + 0),
        lambda t: int(t.argmax()),
        lambda t: torch.multinomial(t.abs(), 1),
    ],
)
def test_the_watch_sees_what_waits(wait: Callable[[torch.Tensor], object]) -> None:
    """The control: each of these would wait on an accelerator."""
    for inference in (True, False):
        with torch.inference_mode(inference), NoWaiting() as watch:
            wait(torch.ones(3))
        assert watch.seen


class PassCounter:
    """Counts the reading passes of a cached model."""

    def __init__(self, model: CachedModel) -> None:
        self._model = model
        self.passes = 0

    def reading(self, widest: int, sampling: Sampling) -> ReadPass:
        def read(*arguments: Any) -> Drawn:
            self.passes += 1
            return self._model.reading(widest, sampling)(*arguments)

        return read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often tensors became Python lists: in all, and within `Verdict.fetch`."""
    seen = {"all": 0, "fetch": 0}
    inside: list[bool] = []
    tolist, fetch = torch.Tensor.tolist, Verdict.fetch

    def counted(self: torch.Tensor) -> Any:
        seen["all"] += 1
        seen["fetch"] += bool(inside)
        return tolist(self)

    def entered(self: Verdict, *args: Any) -> Any:
        inside.append(True)
        result = fetch(self, *args)
        inside.pop()
        return result

    monkeypatch.setattr(torch.Tensor, "tolist", counted)
    monkeypatch.setattr(Verdict, "fetch", entered)
    return seen


BEST_OF_TWO = VerifyConfig.of("fly", at_temperature="best_of_two")
FLAT = MethodConfig("fly", 8, DraftConfig.of("model"), VerifyConfig.of("fly"))
WATCHED = {
    "ar": (AR, GREEDY),
    "ar sampled": (AR, Sampling(1.0)),
    "spd": (SPD, GREEDY),
    "rejection": (SPD, Sampling(1.0, 20, 0.9)),
    "lookup": (LOOKUP, GREEDY),
    "lookup rejection": (LOOKUP, Sampling(1.0)),
    "fly": (FLAT, GREEDY),
    "fly native": (FLAT, Sampling(1.0)),
    "fly best_of_two": (
        MethodConfig("fly", 8, DraftConfig.of("model", draw="greedy"), BEST_OF_TWO), Sampling(1.0),
    ),
    "nested": (FLY, GREEDY),
    "nested native": (FLY, Sampling(1.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", WATCHED)
def test_one_synchronisation_a_round(
    name: str, prompt_ids: list[int], copies: dict[str, int]
) -> None:
    method, sampling = WATCHED[name]
    draft = PassCounter(toys.near("llama"))
    decoder = build_decoder(method, EagerTarget(toys.eager("llama")), draft, sampling)
    with NoWaiting() as watch:
        generation = decoder.decode(prompt_ids, capped(12))
    assert watch.seen == []
    assert copies["fetch"] == len(generation.rounds)
    # The nested drafter compares each of its own passes with the looked-up words on the host.
    assert copies["all"] == len(generation.rounds) + draft.passes


def test_no_architecture_waits_within_a_round(target: EagerTarget, prompt_ids: list[int]) -> None:
    """Beyond gemma3's window of 32 tokens too: the prompt is longer than that."""
    with NoWaiting() as watch:
        build_decoder(AR, target, None, GREEDY).decode(prompt_ids, capped(3))
        decoder_with(target, toys.ScriptedDrafter(lambda context, limit: [1] * limit)).decode(
            prompt_ids, capped(3)
        )
    assert watch.seen == []


# --- Truncation ---------------------------------------------------------------------------------


def spelled(tokenizer: PreTrainedTokenizerFast) -> Callable[[Sequence[int]], str]:
    return lambda ids: tokenizer.decode(list(ids), skip_special_tokens=False)


def in_blocks(
    ids: list[int], rule: StopRule, rng: random.Random
) -> tuple[list[int], str | None, bool]:
    """The kept ids when `rule` sees random blocks, why it ended, and if it ended inside a block."""
    kept: list[int] = []
    while len(kept) < len(ids):
        block = ids[len(kept) :][: rng.choice([1, 2, 5, 16])]
        count, finish = rule.cut(kept, block)
        assert 1 <= count <= len(block)
        kept += block[:count]
        if finish is not None:
            return kept, finish, count < len(block)
        assert count == len(block)
    return kept, None, False


def test_cut_agrees_with_the_oracle_for_any_block_split(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    rng = random.Random(2)
    detokenize = spelled(tokenizer)
    alphabet = [*tokenizer.encode("abcab né€"), EOS, tokenizer.convert_tokens_to_ids("<|user|>")]
    pieces = ["ab", "abc", "a", "né", "€", " b", "c<|us", "|>a", "<|end|>", "cabca", "é€", "zz"]
    reasons: dict[str | None, int] = {}
    inside = 0
    for _ in range(1500):
        weights = [rng.choice([0.1, 1, 4]) for _ in alphabet]
        ids = rng.choices(alphabet, weights, k=rng.randint(1, 40))
        stops = tuple(rng.sample(pieces, rng.randint(0, 2)))
        eos = frozenset(rng.choice([(), (), (EOS,), tuple(alphabet[:1])]))
        cap = rng.choice([1, 3, 10, 39, 1000])
        kept, finish, within = in_blocks(ids, StopRule(eos, cap, stops, detokenize), rng)
        assert (kept, finish) == truncate(ids, eos, cap, stops, detokenize), (ids, stops, eos, cap)
        reasons[finish] = reasons.get(finish, 0) + 1
        inside += within
    assert min(reasons[why] for why in ("eos", "stop", "length", None)) > 50
    assert inside > 200


def test_cut_agrees_with_the_oracle_on_any_bytes(tokenizer: PreTrainedTokenizerFast) -> None:
    """Most random bytes are no valid text; a stop string must still be found between them."""
    rng = random.Random(3)
    detokenize = spelled(tokenizer)
    stopped = 0
    for _ in range(300):
        ids = [rng.randrange(toys.VOCAB) for _ in range(60)]
        at = rng.randrange(50)
        ids[at : at + 3] = tokenizer.encode("né")
        rule = StopRule(frozenset(), 1000, ("né", "<|assistant|>"), detokenize)
        kept, finish, _ = in_blocks(ids, rule, rng)
        assert (kept, finish) == truncate(ids, (), 1000, rule.stop_strings, detokenize)
        stopped += finish == "stop"
    assert stopped == 300


def test_cut_agrees_with_the_oracle_when_a_text_loses_its_first_space() -> None:
    """SentencePiece tokenizers strip the space of the first token of whatever they decode."""
    rng = random.Random(4)
    words = [" ", " a", "b", " b", "ab", "c"]

    def detokenize(ids: Sequence[int]) -> str:
        return "".join(words[i] for i in ids).removeprefix(" ")

    stops = (" b", "a b", " a b", "c c", "  ")
    for _ in range(1000):
        ids = [rng.randrange(len(words)) for _ in range(12)]
        chosen = tuple(rng.sample(stops, 2))
        kept, finish, _ = in_blocks(ids, StopRule(frozenset(), 99, chosen, detokenize), rng)
        assert (kept, finish) == truncate(ids, (), 99, chosen, detokenize), (ids, chosen)


def test_a_stop_string_of_long_characters_is_found(tokenizer: PreTrainedTokenizerFast) -> None:
    """Its six bytes are six tokens, though it has two characters."""
    rule = StopRule(frozenset(), 99, ("€€",), spelled(tokenizer))
    ids = tokenizer.encode("ab€€c")
    assert rule.cut([], ids) == (8, "stop")
    assert rule.cut(ids[:7], ids[7:]) == (1, "stop")


def test_at_one_token_eos_precedes_stop_and_stop_precedes_the_cap() -> None:
    def rule(eos: frozenset[int], stops: tuple[str, ...]) -> StopRule:
        return StopRule(eos, 1, stops, lambda ids: "x" * len(ids))

    assert rule(frozenset({5}), ("x",)).cut([], [5, 6]) == (1, "eos")
    assert rule(frozenset(), ("x",)).cut([], [5, 6]) == (1, "stop")
    assert rule(frozenset(), ()).cut([], [5, 6]) == (1, "length")


def printable_pairs(ids: list[int], tokenizer: PreTrainedTokenizerFast) -> Iterator[str]:
    """Texts of neighbouring tokens that are plain letters or signs."""
    for pair in itertools.pairwise(ids):
        text = tokenizer.decode(list(pair))
        if len(text) == 2 and text.isascii() and text.isprintable():
            yield text


@pytest.mark.parametrize("ending", ["stop string", "special token", "eos", "cap"])
def test_every_method_ends_where_the_oracle_ends_the_plain_answer(
    ending: str,
    target: EagerTarget,
    arch: str,
    prompt_ids: list[int],
    ar_answer: Generation,
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    detokenize = spelled(tokenizer)
    plain = ar_answer.ids
    pair = tuple(printable_pairs(plain[20:80], tokenizer))[-1:]
    rules = {
        "stop string": StopRule(frozenset(), toys.ANSWER_TOKENS, pair, detokenize),
        "special token": StopRule(frozenset(), 100, ("<|bos|>", "<|user|>"), detokenize),
        "eos": StopRule(frozenset({plain[33], EOS}), toys.ANSWER_TOKENS),
        "cap": capped(37),
    }
    rule = rules[ending]
    kept, finish = truncate(
        plain, rule.eos_ids, rule.max_new_tokens, rule.stop_strings, rule.detokenize
    )
    for method in (AR, *LOSSLESS.values()):
        generation = answer(method, target, arch, prompt_ids, rule)
        assert (generation.ids, generation.finish) == (kept, finish), method.name
    if ending in ("stop string", "eos"):
        assert len(kept) < 100


@pytest.mark.parametrize("name", ["ar", "spd", "fly"])
def test_a_shorter_cap_gives_a_prefix(
    name: str, target: EagerTarget, arch: str, prompt_ids: list[int]
) -> None:
    method = METHODS[name]
    longest = answer(method, target, arch, prompt_ids, capped(100))
    if name == "fly":
        assert sum(r.loose for r in longest.rounds) > 0
    for cap in (1, 2, 17, 49):
        shorter = answer(method, target, arch, prompt_ids, capped(cap))
        assert shorter.ids == longest.ids[:cap]
        assert shorter.finish == "length"


# --- The distribution of whole answers ------------------------------------------------------------

TABLE = torch.randn(4, 4, generator=torch.Generator().manual_seed(8))
DRAFT_TABLE = TABLE + torch.randn(4, 4, generator=torch.Generator().manual_seed(9))
SAMPLED = {
    "ar": AR,
    "spd": MethodConfig("spd", 3, DraftConfig.of("model")),
    "spd greedy draft": MethodConfig("spd", 3, DraftConfig.of("model", draw="greedy")),
    "lookup": MethodConfig("lookup", 3, DraftConfig.of("lookup")),
    "fly theta=inf": MethodConfig(
        "fly", 3, DraftConfig.of("nested"), VerifyConfig.of("fly", theta=math.inf, window=1)
    ),
}


@pytest.mark.parametrize("method", fast_only(SAMPLED, "spd"))
def test_sampled_answers_follow_the_target_distribution(method: MethodConfig) -> None:
    sampling, draws, prompt = Sampling(0.9), 2000, [1, 2, 3, 0, 1, 2]
    target = EagerTarget(toys.TableModel(TABLE))  # type: ignore[arg-type]
    decoder = build_decoder(method, target, toys.TableModel(DRAFT_TABLE), sampling)
    found = [0] * 16
    for seed in range(draws):
        first, second = decoder.decode(prompt, capped(2), seed).ids
        found[first * 4 + second] += 1
    dist = sampling.warp(TABLE)
    expected = (dist[2][:, None] * dist).flatten().double()
    assert chisquare(found, (expected / expected.sum() * draws).tolist()).pvalue > 1e-3


def test_loose_tokens_have_their_place_in_the_answer(arch: str, prompt_ids: list[int]) -> None:
    """What the target preferred there is its favourite after everything before."""
    target = EagerTarget(toys.eager(arch))
    anything = MethodConfig(
        "fly", 6, DraftConfig.of("model"), VerifyConfig.of("fly", theta=0, window=0)
    )
    found = answer(anything, target, arch, prompt_ids, capped(90))
    assert len(found.loose_tokens) == sum(round_.loose for round_ in found.rounds) > 2
    text = torch.tensor([[*prompt_ids, *found.ids]])
    with torch.inference_mode():
        favourites = toys.model(arch)(text).logits[0].argmax(-1)
    for token in found.loose_tokens:
        before = len(prompt_ids) + token.index - 1
        assert token.statistics.top1 == favourites[before] != found.ids[token.index]
