"""The card of a trained drafter: what it is for, what it was made of, and what it reached."""

from __future__ import annotations

from typing import Any

HEAD = """# An EAGLE-3 head for {target}

It drafts for this target and no other. `model.safetensors` and `config.json` are in the format of
vllm-project/speculators."""
DRAFT = """# A draft model for {target}

{layers} layers of its own between the embeddings and the output layer of {target}, which it
borrows; it drafts for this target and no other. The ids that it may propose are in `draft_ids`, the
most frequent first."""


def head_card(facts: dict[str, Any], data: str) -> str:
    """Markdown, from the facts that `train_head` returns and the name of the prompts."""
    return _card(HEAD.format(target=facts["target"]), facts, data)


def draft_card(facts: dict[str, Any], data: str) -> str:
    """Markdown, from the facts that `train_draft` returns and the name of the prompts."""
    layers = len(facts["settings"]["layers"])
    return _card(DRAFT.format(target=facts["target"], layers=layers), facts, data)


def _card(what: str, facts: dict[str, Any], data: str) -> str:
    settings = facts["settings"]
    rows = "\n".join(f"| `{name}` | {value} |" for name, value in settings.items())
    prompts = facts["prompts_by_domain"]
    domains = "\n".join(
        f"| {name} | {count:,} | {_tau(facts, name)} |" for name, count in sorted(prompts.items())
    )
    return f"""{what}

**Data.** Prompts of `{data}` with the target's own answers to them:
{facts["answers"]["trained"]:,} answers ({facts["answer_tokens"]:,} tokens). Further prompts with
{facts["answers"]["held_out"]:,} answers were held out.

**Draft vocabulary.** {settings["draft_vocab_size"]:,} ids: the most frequent ones of the answers,
which cover {facts["coverage"]:.2%} of them and {facts["held_out_coverage"]:.2%} of the held-out
answers.

**Measured.** Drafts of {facts["k"]} on {facts["prompts"]} held-out prompts, greedily: τ =
{facts["tau"]:.2f} tokens per pass of the target. Other domains were not measured here.

| domain | prompts trained on | τ on held-out ones |
|---|---|---|
{domains}

| setting | value |
|---|---|
{rows}
"""


def _tau(facts: dict[str, Any], domain: str) -> str:
    found = facts["tau_by_domain"].get(domain)
    return "not measured" if found is None else f"{found:.2f}"
