# SPDX-License-Identifier: Apache-2.0
"""The gist network of core/kinds/wlod/tree/gist_net.h and a frozen model that runs over entries of a working context, for training.

An entry is (level, start): a token, or a gist that goes through all layers as one row at the centre of its span, its
rotation damped by exp(-(sigma w)^2 / 2), sigma = a parameter times half its span. Attention is flat: each entry sees every
entry before it and itself. Shapes have the slowest dimension first; f32 throughout.
"""
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

class Frozen:
    """A model of any family that kvlab opens, as transformers has it; only vectors for embeddings, phases and masks are ours."""

    def __init__(self, path):
        """path: a Hugging Face directory, or a .gguf file, whose weights transformers expands."""
        os.environ.setdefault("TQDM_DISABLE", "1")
        from transformers import AutoModelForCausalLM, logging
        logging.disable_progress_bar()
        folder, file = os.path.split(path) if os.path.isfile(path) else (path, None)
        self.whole = AutoModelForCausalLM.from_pretrained(
            folder, gguf_file=file, dtype=torch.float32, attn_implementation="sdpa").eval().requires_grad_(False)
        self.decoder = self.whole.model
        if not hasattr(self.decoder.rotary_emb, "inv_freq"):
            raise SystemExit(f"{path}: its layers turn by different rotary tables, which this recipe does not know")
        self.hidden = self.whole.config.hidden_size
        self.positions = self.whole.config.max_position_embeddings
        self.head = self.whole.get_output_embeddings().weight.T
        self.frequencies, self.scale = self.decoder.rotary_emb.inv_freq.double(), self.decoder.rotary_emb.attention_scaling
        kinds = getattr(self.whole.config, "layer_types", None) or ["sliding_attention"] * len(self.decoder.layers)
        window = getattr(self.whole.config, "sliding_window", None) or 0
        self.windows = [window if kind == "sliding_attention" else 0 for kind in kinds]

    def embed(self, ids):
        return self.whole.get_input_embeddings()(ids)

    def turns(self, phases, sigmas):
        """Phases and sigmas of any shape -> cos and sin [..., headDim / 2], and the phases."""
        angles = phases.double()[..., None] * self.frequencies
        damp = torch.exp(-0.5 * (sigmas.double()[..., None] * self.frequencies).square()) * self.scale
        return (angles.cos() * damp).float(), (angles.sin() * damp).float(), phases

    def last(self, x):
        """From what the last layer left to what the head takes."""
        return self.decoder.norm(x)

    def forward(self, x, turns, mask=None, layers=None):
        """x [b, n, hidden], turns of [b, n] -> what the head takes; mask [b, 1, n, n] or causal. Or the state behind the first
        `layers` layers."""
        n = x.shape[1]
        cos, sin, phases = torch.cat([turns[0]] * 2, -1), torch.cat([turns[1]] * 2, -1), turns[2]
        if mask is None:
            mask = torch.ones(n, n, dtype=torch.bool).tril()[None, None]
        far = (phases[:, None, :, None] - phases[:, None, None, :])
        for layer, window in list(zip(self.decoder.layers, self.windows))[:layers]:
            seen = mask & (far < window) if window else mask
            x = layer(x, attention_mask=seen, position_embeddings=(cos, sin))
        return x if layers else self.last(x)


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
