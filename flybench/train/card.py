"""The card of a trained drafter: what it is for, what it was made of, and what it reached."""

from __future__ import annotations

from typing import Any


def head_card(facts: dict[str, Any], data: str) -> str:
    """Markdown, from the facts that `train_head` returns and the name of the prompts."""
    settings = facts["settings"]
    rows = "\n".join(f"| `{name}` | {value} |" for name, value in settings.items())
    return f"""# An EAGLE-3 head for {facts["target"]}

It drafts for this target and no other. `model.safetensors` and `config.json` are in the format of
vllm-project/speculators.

**Data.** {facts["answers"]["trained"]:,} prompts of `{data}`, answered greedily by the target
itself ({facts["answer_tokens"]:,} tokens); {facts["answers"]["held_out"]:,} further prompts were
held out.

**Draft vocabulary.** {settings["draft_vocab_size"]:,} ids: the most frequent ones of the answers,
which cover {facts["coverage"]:.2%} of them and {facts["held_out_coverage"]:.2%} of the held-out
answers.

**Measured.** A chain of {facts["chain"]} on {facts["prompts"]} held-out prompts, greedily: τ =
{facts["tau"]:.2f} tokens per pass of the target. Other domains were not measured here.

| setting | value |
|---|---|
{rows}
"""
