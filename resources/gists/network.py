# SPDX-License-Identifier: Apache-2.0
"""The gist network of core/wlod/gist_net.h and a frozen Llama that runs over entries of a working context, for training.

An entry is (level, start): a token, or a gist that goes through all layers as one row at the centre of its span, its
rotation damped by exp(-(sigma w)^2 / 2), sigma = a parameter times half its span. Attention is flat: each entry sees every
entry before it and itself. Shapes have the slowest dimension first; f32 throughout.
"""
import json
import math
import os

import torch
import torch.nn.functional as F

BLOCK = 32


def span_of(level):
    return BLOCK ** level


# ---- the network: a dict of tensors per level, by the names of the file ----

def start_level(hidden, pools, width):
    """Half of the pools start on places of the block, half on nothing; w2 = b2 = 0 is the mean."""
    place = torch.arange(BLOCK).float()
    centres = (torch.arange(pools) // 2 * 2 + 0.5) * BLOCK / pools
    position = -((place[None] - centres[:, None]) / 5).square()
    position[1::2] = 0
    return {name: value.requires_grad_() for name, value in {
        "norm": torch.ones(hidden), "query": torch.randn(pools, hidden) * 1.5 / math.sqrt(hidden), "position": position,
        "w1": torch.randn(width, pools * hidden) / math.sqrt(pools * hidden), "b1": torch.zeros(width),
        "w2": torch.zeros(hidden, width), "b2": torch.zeros(hidden)}.items()}


def unit(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-12)


def gists_of(net, children):
    """children [..., 32, hidden] -> [..., hidden]; net None is the mean."""
    mean = children.mean(-2)
    if net is None:
        return mean
    scores = (unit(children) * net["norm"]) @ net["query"].T + net["position"].T
    pooled = torch.softmax(scores, -2).transpose(-1, -2) @ children
    return mean + F.silu(unit(pooled.flatten(-2)) @ net["w1"].T + net["b1"]) @ net["w2"].T + net["b2"]


def tree_of(nets, embeddings):
    """Embeddings [b, n, hidden] of tokens -> those of all levels as far as blocks are complete; nets: [level 1, level 2]."""
    out = [embeddings]
    for net in nets:
        b, n, d = out[-1].shape
        if n < BLOCK:
            break
        out.append(gists_of(net, out[-1][:, :n // BLOCK * BLOCK].reshape(b, -1, BLOCK, d)))
    return out


# ---- the frozen model ----

class Llama:
    def __init__(self, folder):
        from safetensors.torch import load_file
        with open(os.path.join(folder, "config.json")) as file:
            self.config = json.load(file)
        self.weights = {name: w.float() for name, w in load_file(os.path.join(folder, "model.safetensors")).items()}
        self.head = self.weights["lm_head.weight"].T.contiguous()
        dim = self.config["head_dim"]
        self.frequencies = self.config["rope_theta"] ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)

    def embed(self, ids):
        return self.weights["model.embed_tokens.weight"][ids]

    def turns(self, phases, sigmas):
        """Phases and sigmas of any shape -> cos and sin [..., headDim / 2]."""
        angles = phases.double()[..., None] * self.frequencies
        damp = torch.exp(-0.5 * (sigmas.double()[..., None] * self.frequencies).square())
        return (angles.cos() * damp).float(), (angles.sin() * damp).float()

    def norm(self, x, name):
        return F.rms_norm(x, x.shape[-1:], self.weights[name], self.config["rms_norm_eps"])

    def forward(self, x, turns, mask=None, layers=None):
        """x [b, n, hidden], turns [b, n, headDim / 2] -> after the last norm; mask [b, 1, n, n] or causal. Or the state behind
        the first `layers` layers."""
        c, w = self.config, self.weights
        b, n, _ = x.shape
        dim, group = c["head_dim"], c["num_attention_heads"] // c["num_key_value_heads"]
        cos, sin = (t[:, None] for t in turns)

        def turn(t):
            low, high = t[..., :dim // 2], t[..., dim // 2:]
            return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)
        for layer in range(layers or c["num_hidden_layers"]):
            at = f"model.layers.{layer}."
            h = self.norm(x, at + "input_layernorm.weight")
            q, k, v = ((h @ w[f"{at}self_attn.{part}_proj.weight"].T).view(b, n, -1, dim).transpose(1, 2) for part in "qkv")
            k, v = turn(k).repeat_interleave(group, 1), v.repeat_interleave(group, 1)
            out = F.scaled_dot_product_attention(turn(q), k, v, attn_mask=mask, is_causal=mask is None)
            x = x + out.transpose(1, 2).reshape(b, n, -1) @ w[at + "self_attn.o_proj.weight"].T
            h = self.norm(x, at + "post_attention_layernorm.weight")
            h = F.silu(h @ w[at + "mlp.gate_proj.weight"].T) * (h @ w[at + "mlp.up_proj.weight"].T)
            x = x + h @ w[at + "mlp.down_proj.weight"].T
        return x if layers else self.norm(x, "model.norm.weight")


# ---- entries ----

def centre(level, start):
    return start + (span_of(level) // 2 if level else 0)


def tiling(length, collapsed):
    """Entries of a time line of `length` moments in which the nodes of `collapsed` {start: level} stand as gists."""
    entries, moment = [], 0
    while moment < length:
        level = collapsed.get(moment, 0)
        entries.append((level, moment))
        moment += span_of(level)
    return entries


def rows_of(tree, tilings):
    """Embeddings [b, entries, hidden] of one tiling per line of the batch; all tilings have equally many entries."""
    offsets, total = [], 0
    for level in tree:
        offsets.append(total)
        total += level.shape[1]
    index = torch.tensor([[offsets[level] + start // span_of(level) for level, start in entries] for entries in tilings])
    every = torch.cat(tree, 1)
    return every.gather(1, index[..., None].expand(-1, -1, every.shape[-1]))


def turns_of(model, tilings, sigma):
    phases = torch.tensor([[centre(*entry) for entry in entries] for entries in tilings])
    sigmas = torch.tensor([[sigma * span_of(level) / 2 if level else 0.0 for level, _ in entries] for entries in tilings])
    return model.turns(phases, sigmas)
