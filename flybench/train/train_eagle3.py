"""Training of a head for a target on the target's own answers, for `flybench train-eagle3`."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from pathlib import Path

from transformers import PreTrainedModel

from flybench.config import RunConfig
from flybench.core.errors import FlybenchError
from flybench.decode import AR, StopRule, build_decoder
from flybench.engine.drafters.layer_skip import same_weights
from flybench.engine.eager.model import EagerModel, EagerTarget
from flybench.engine.loading.description import ModelInfo, describe
from flybench.engine.loading.load import load_model
from flybench.engine.loading.placement import use_threads
from flybench.run.setup import check_devices
from flybench.sampling import Sampling
from flybench.tasks.chat import Chat
from flybench.train.answers import BatchGenerator, answer_all
from flybench.train.corpus import Sample, read_corpus, write_corpus
from flybench.train.head import train_head
from flybench.train.model_card import head_card, publish
from flybench.train.settings import AnswerSettings, HeadSettings
from flybench.train.training_set import ALL, check_manifest

log = logging.getLogger(__name__)

CORPUS = "corpus.jsonl"
Prompt = tuple[list[int], str]
"""The ids of a prompt, and its domain."""


def train(
    config: RunConfig, data: Path, folder: Path, settings: HeadSettings, how: AnswerSettings
) -> int:
    """Answer the prompts of `data` with the target of `config`, and train a head in `folder`."""
    check_devices(config)
    use_threads(config.engine)
    info = describe(config.model.target)
    prompts = read_prompts(data, Chat(info.tokenizer, "auto"))
    target = load_model(info, config.engine)
    check_manifest(
        folder / "answered.json", asdict(how) | {"target": info.ref.path, "files": info.files}
    )
    corpus = _corpus(folder / CORPUS, target, info, prompts, how)
    facts = train_head(target, corpus, sorted(info.eos_ids), settings, folder, info.ref.path)
    publish(folder, facts, head_card, str(data))
    prompts_decoded = sum(facts["measured_prompts"].values())
    for name, tau in facts["tau"].items():
        print(f"{name}: τ = {tau[ALL]:.2f} on {prompts_decoded} held-out prompts")
    print(f"\n{folder}")
    log.info("Use it: flybench run model.eagle3=%s method=eagle3 …", folder)
    return 0


def read_prompts(path: Path, chat: Chat) -> list[Prompt]:
    """Read prompts as ids, with the domain of each line, or `prompts` without one.

    Raises:
        FlybenchError: the file is missing, or a line is not a prompt.
    """
    found = []
    try:
        # JSON text may contain separators at which splitlines() splits.
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise FlybenchError(f"data={path} cannot be read: check the path.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            messages = row.get("messages") or [{"role": "user", "content": row["prompt"]}]
            if not all(isinstance(message["content"], str) for message in messages):
                raise TypeError("a message's content must be text")
            ids = chat.encode(chat.render(messages))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise FlybenchError(
                f"line {number} of {path} is not a JSON object with a prompt or messages: fix it."
            ) from error
        found.append((ids, str(row.get("domain", "prompts"))))
    if not found:
        raise FlybenchError(f"data={path} has no prompts: write one per line.")
    return found


def _corpus(
    path: Path, target: PreTrainedModel, info: ModelInfo, prompts: list[Prompt], how: AnswerSettings
) -> list[Sample]:
    """Return the recorded answers, or generate them."""
    if path.is_file():
        corpus = read_corpus(path)
        if [(sample.prompt, sample.domain) for sample in corpus] != prompts:
            raise FlybenchError(
                f"{path} has answers for other prompts: set out= to another folder, or delete it."
            )
        return corpus
    answers = _answers(target, info, [ids for ids, _ in prompts], how)
    corpus = [Sample(ids, a, domain) for (ids, domain), a in zip(prompts, answers, strict=True)]
    write_corpus(path, corpus)
    return corpus


def _answers(
    target: PreTrainedModel, info: ModelInfo, prompts: list[list[int]], how: AnswerSettings
) -> list[list[int]]:
    """Decode greedy answers: in batches if the graph engine supports the model, else singly."""
    ends, most = sorted(info.eos_ids), how.max_new_tokens
    vocab, longest = info.vocab_size, max(map(len, prompts)) + most
    if info.graph_unsupported_reason is None:
        # Training needs an unmodified target, and `BatchGenerator` modifies its model.
        answerer = BatchGenerator(same_weights(target), vocab, how.batch, longest, Sampling())
        return answer_all(answerer, prompts, ends, most, how.batch)
    decoder = build_decoder(AR, EagerTarget(EagerModel(target, vocab)), None, Sampling())
    return [decoder.decode(ids, StopRule(frozenset(ends), most)).ids for ids in prompts]
