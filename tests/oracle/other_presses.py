# SPDX-License-Identifier: Apache-2.0
"""Rules of programs that need a GPU or an old transformers, as presses: written from what their code does, on the
attention that kvpress computes."""
from dataclasses import dataclass

import torch
from kvpress import AdaKVPress, ObservedAttentionPress, SnapKVPress
from torch.nn import functional


def by_group(attention, kv_heads):
    """Mean over the query heads of each group; heads stand in the second place."""
    return attention.unflatten(1, (kv_heads, -1)).mean(2)


def kept_of(press, rows):
    return max(1, int(rows * (1 - press.compression_ratio)))


@dataclass
class MaximumPress(SnapKVPress):
    """SnapKV as FFY0/AdaKV has it with gqa_support: mean over the queries and the group, then the maximum of neighbours."""
    kernel_size: int = 7

    def score(self, module, hidden_states, keys, values, attentions, kwargs):
        attention = self.compute_window_attention(module, hidden_states, keys, self.window_size,
                                                  kwargs["position_embeddings"])
        scores = functional.max_pool1d(by_group(attention.mean(-2), keys.shape[1]), self.kernel_size, 1,
                                       self.kernel_size // 2)
        return functional.pad(scores, (0, self.window_size), value=scores.max().item() + 1)


@dataclass
class MixedPress(AdaKVPress):
    """FFY0/AdaKV: what a head wins of the layer's best rows, mixed with an even share, in float32."""

    def compress(self, module, hidden_states, keys, values, attentions, kwargs):
        scores = self.press.score(module, hidden_states, keys, values, attentions, kwargs)
        heads, rows = scores.shape[1:]
        window = self.press.window_size
        base = kept_of(self, rows) - window
        past = scores[0, :, :rows - window]
        won = torch.bincount(past.flatten().topk(heads * base).indices // past.shape[1], minlength=heads)
        budgets = torch.round(won * (1 - self.alpha_safeguard) + int(base * self.alpha_safeguard)).int().tolist()
        leaves = [(head, row) for head, budget in enumerate(budgets)
                  for row in past[head].argsort(descending=True, stable=True)[budget:].tolist()]
        module.masked_key_indices = (torch.zeros(len(leaves), dtype=torch.long), *torch.tensor(leaves).reshape(-1, 2).T)
        return keys, values


@dataclass
class HeavyPress(ObservedAttentionPress):
    """H2O: the recent half of the budget, and of the other rows those that received most attention."""

    def score(self, module, hidden_states, keys, values, attentions, kwargs):
        scores = by_group(attentions.sum(2), keys.shape[1])
        scores[..., -((kept_of(self, keys.shape[2]) + 1) // 2):] = scores.max() + 1
        return scores


@dataclass
class NewestPress(ObservedAttentionPress):
    """TOVA: the newest query's attention, mean over all heads; the newest row competes."""

    def score(self, module, hidden_states, keys, values, attentions, kwargs):
        return attentions[:, :, -1].mean(1, keepdim=True).repeat(1, keys.shape[1], 1)
