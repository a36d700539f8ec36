"""The EAGLE-3 head: one decoder layer over token embeddings and the target's hidden states.

Source: EAGLE-3 (arXiv 2503.01840) and its code (SafeAILab/EAGLE, `cnets.py`); the options are those
of vllm-project/speculators and SpecForge. The feature of token i and the embedding of token i + 1
predict token i + 2. Features are hidden states of three layers of the target, joined by `fc`; for
draft tokens the head's own hidden state takes their place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import (
    LlamaMLP,
    LlamaRotaryEmbedding,
    apply_rotary_pos_emb,
)

from flybench.engine.cost.footprint import head_width

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Attention of queries [B, H, T, D] with keys and values [B, KV, T, D] → [B, T, H · D]."""


@dataclass(frozen=True)
class HeadConfig:
    """Sizes and options of a head.

    `layer` describes its decoder layer; `taps` are indices of hidden states, where i is the output
    of layer i − 1 and 0 would be the embeddings. `draft_vocab_size` None shares the target's output
    layer. The other options are those that checkpoints carry under the same names; `fc_norm` is a
    norm for each tap, `norm_before_fc` one for all three together.
    """

    layer: LlamaConfig
    target_hidden_size: int
    vocab_size: int
    draft_vocab_size: int | None
    taps: tuple[int, int, int]
    norm_before_residual: bool = False
    norm_before_fc: bool = False
    norm_output: bool = False
    fc_norm: bool = False
    qk_norm: bool = False
    own_embeddings: bool = False
    fc_bias: bool = False

    @property
    def head_dim(self) -> int:
        return head_width(self.layer)

    @property
    def key_heads(self) -> int:
        return self.layer.num_key_value_heads or self.layer.num_attention_heads


class HeadLayer(nn.Module):
    """A Llama layer whose attention takes the embedding concatenated with the feature."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        layer = config.layer
        width, eps, bias = layer.hidden_size, layer.rms_norm_eps, bool(layer.attention_bias)
        self._norm_before_residual = config.norm_before_residual
        self.head_dim = config.head_dim
        self.self_attn = nn.ModuleDict(
            {
                name: nn.Linear(2 * width, heads * config.head_dim, bias=bias)
                for name, heads in (
                    ("q_proj", layer.num_attention_heads),
                    ("k_proj", config.key_heads),
                    ("v_proj", config.key_heads),
                )
            }
        )
        self.self_attn["o_proj"] = nn.Linear(
            layer.num_attention_heads * config.head_dim, width, bias=bias
        )
        if config.qk_norm:
            self.self_attn["q_norm"] = nn.RMSNorm(config.head_dim, eps)
            self.self_attn["k_norm"] = nn.RMSNorm(config.head_dim, eps)
        self.mlp = LlamaMLP(layer)
        self.input_layernorm = nn.RMSNorm(width, eps)
        self.hidden_norm = nn.RMSNorm(width, eps)
        self.post_attention_layernorm = nn.RMSNorm(width, eps)

    def forward(
        self, embedded: Tensor, feature: Tensor, angles: tuple[Tensor, Tensor], attend: Attend
    ) -> Tensor:
        """Both inputs [B, T, H] → [B, T, H]."""
        normed = self.hidden_norm(feature)
        residual = normed if self._norm_before_residual else feature
        both = torch.cat([self.input_layernorm(embedded), normed], -1)
        hidden = residual + self.self_attn["o_proj"](attend(*self._project(both, angles)))
        return hidden + self.mlp(self.post_attention_layernorm(hidden))

    def _project(
        self, both: Tensor, angles: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = (
            self.self_attn[name](both).unflatten(-1, (-1, self.head_dim))
            for name in ("q_proj", "k_proj", "v_proj")
        )
        if "q_norm" in self.self_attn:
            query, key = self.self_attn["q_norm"](query), self.self_attn["k_norm"](key)
        query, key, value = (part.transpose(1, 2) for part in (query, key, value))
        query, key = apply_rotary_pos_emb(query, key, *angles)
        return query, key, value


class Eagle3Head(nn.Module):
    """The head; weights are named as in checkpoints of vllm-project/speculators."""

    d2t: Tensor
    t2d: Tensor

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        layer = config.layer
        width, taps = layer.hidden_size, 3 * config.target_hidden_size
        size = config.draft_vocab_size or config.vocab_size
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, width)
        self.fc = nn.Linear(taps, width, bias=config.fc_bias)
        if config.fc_norm:
            norms = (nn.RMSNorm(config.target_hidden_size, layer.rms_norm_eps) for _ in range(3))
            self.fc_norm = nn.ModuleList(norms)
        if config.norm_before_fc:
            self.input_norm = nn.RMSNorm(taps, layer.rms_norm_eps)
        self.layers = nn.ModuleList([HeadLayer(config)])
        self.norm = nn.RMSNorm(width, layer.rms_norm_eps)
        self.lm_head = nn.Linear(width, size, bias=False)
        self.rotary = LlamaRotaryEmbedding(layer)
        self.register_buffer("d2t", torch.zeros(size, dtype=torch.long))
        self.register_buffer("t2d", torch.ones(config.vocab_size, dtype=torch.bool))

    def fuse(self, taps: Tensor) -> Tensor:
        """The target's hidden states [..., 3 · H_t] → features [..., H]."""
        if self.config.norm_before_fc:
            taps = self.input_norm(taps)
        if self.config.fc_norm:
            parts = taps.chunk(3, -1)
            taps = torch.cat([n(p) for n, p in zip(self.fc_norm, parts, strict=True)], -1)
        fused: Tensor = self.fc(taps)
        return fused

    def forward(
        self, ids: Tensor, features: Tensor, positions: Tensor, attend: Attend
    ) -> tuple[Tensor, Tensor]:
        """ids and positions [B, T], features [B, T, H] → the next features and what `score` reads.

        The feature of row t belongs to the token before `ids`[t].
        """
        angles = self.rotary(features, positions)
        hidden = self.layers[0](self.embed_tokens(ids), features, angles, attend)
        normed = self.norm(hidden)
        return (normed if self.config.norm_output else hidden), normed

    def score(self, normed: Tensor) -> Tensor:
        """Logits [..., V_d] over the draft vocabulary."""
        logits: Tensor = self.lm_head(normed)
        return logits

    def predict(self, normed: Tensor) -> Tensor:
        """Return the top-1 id of the target's vocabulary for each input row of `score`."""
        return self.in_target(self.score(normed).argmax(-1))

    @property
    def draft_ids(self) -> Tensor:
        """The target's ids that the head may propose [V_d]."""
        return torch.arange(len(self.d2t), device=self.d2t.device) + self.d2t

    def in_target(self, draft_ids: Tensor) -> Tensor:
        """Map ids of the draft vocabulary to the target's ids."""
        return draft_ids + self.d2t[draft_ids]
