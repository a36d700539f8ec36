"""The model card of a trained drafter: its use, its data, and its measured τ."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flybench.train.training_set import ALL

HEAD = """# An EAGLE-3 head for {target}

It drafts only for this target. `model.safetensors` and `config.json` are in the format of
vllm-project/speculators."""
DRAFT = """# A draft model for {target}

{layers} layers between the embeddings and the output layer of {target}, which it shares; it drafts
only for this target. The ids that it may propose are in `draft_ids`, the most frequent first."""


Card = Callable[[dict[str, Any], str], str]


def publish(folder: Path, facts: dict[str, Any], card: Card, data: str) -> None:
    """Write the facts and the model card to the folder of the weights."""
    (folder / "training.json").write_text(json.dumps(facts, indent=2) + "\n")
    (folder / "README.md").write_text(card(facts, data))


def head_card(facts: dict[str, Any], data: str) -> str:
    """Return Markdown, from the facts that `train_head` returns and the name of the prompts."""
    return _card(HEAD.format(target=facts["target"]), facts, data)


def draft_card(facts: dict[str, Any], data: str) -> str:
    """Return Markdown, from the facts that `train_draft` returns and the name of the prompts."""
    layers = len(facts["settings"]["layers"])
    return _card(DRAFT.format(target=facts["target"], layers=layers), facts, data)


def _card(what: str, facts: dict[str, Any], data: str) -> str:
    settings, answers = facts["settings"], facts["answers"]
    rows = "\n".join(f"| `{name}` | {value} |" for name, value in settings.items())
    return f"""{what}

**Data.** Prompts of `{data}` with the target's own answers to them:
{answers["trained"]:,} answers ({facts["answer_tokens"]:,} tokens). Further prompts, with
{answers["held_out"]:,} answers, were held out.

**Draft vocabulary.** {settings["draft_vocab_size"]:,} ids: the most frequent ones of the answers.
They cover {facts["coverage"]:.2%} of the tokens in these answers and
{facts["held_out_coverage"]:.2%} of those in the held-out answers.

**Measured.** Tokens per target forward pass (τ), decoded greedily on held-out prompts of the same
domains.
Other domains were not measured here.

{_measured(facts)}

| setting | value |
|---|---|
{rows}
"""


def _measured(facts: dict[str, Any]) -> str:
    """Return a table with a row for each domain and a column of τ for each method."""
    methods = facts["tau"]
    trained = facts["prompts_by_domain"] | {ALL: sum(facts["prompts_by_domain"].values())}
    decoded = facts["measured_prompts"] | {ALL: sum(facts["measured_prompts"].values())}
    head = ["domain", "prompts trained on", "prompts decoded", *(f"τ, {name}" for name in methods)]
    lines = [head, ["---"] * len(head)]
    for domain, count in sorted(trained.items(), key=lambda pair: (pair[0] == ALL, pair[0])):
        found = [methods[name].get(domain) for name in methods]
        taus = ["—" if tau is None else f"{tau:.2f}" for tau in found]
        lines.append([domain, f"{count:,}", str(decoded.get(domain, 0)), *taus])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
