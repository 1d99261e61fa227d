#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Working contexts with gists in f64 PyTorch, written apart from network.py and from kvlab: what a test compares with.

    reference.py [--net demo.safetensors] [--out reference.json]

reference.json: `cases`, each with `tokens` (the time line), `tiling` (entries {level, start} in time order), `sigma` (the
parameter: a gist's sigma is that times half its span) and `results` by network, `mean` and `trained`: `gists`, the first
four values of each gist of the tiling, and `top`, the 20 largest logits [id, value] of the last entry. Weights of the model as stored (bf16), all
arithmetic in f64, attention flat. Prints how far network.py (f32) is from it. Needs PyTorch, safetensors, sentencepiece.
"""
import argparse
import json
import math
import os
import random

import torch
from safetensors.torch import load_file

import network as nw
import stories as so

HERE = os.path.dirname(os.path.abspath(__file__))


def child_gists(net, x):
    """x [n, 32, hidden] -> [n, hidden], one child set and one pool after the other."""
    out = []
    for children in x:
        gist = children.mean(0)
        if net:
            normed = torch.stack([child / (child.pow(2).mean() + 1e-12).sqrt() * net["norm"] for child in children])
            pooled = []
            for query, position in zip(net["query"], net["position"]):
                score = torch.stack([query.dot(u) for u in normed]) + position
                weight = (score - score.max()).exp()
                pooled.append((weight / weight.sum()) @ children)
            z = torch.cat(pooled)
            inner = net["w1"] @ (z / (z.pow(2).mean() + 1e-12).sqrt()) + net["b1"]
            gist = gist + net["w2"] @ (inner / (1 + (-inner).exp())) + net["b2"]
        out.append(gist)
    return torch.stack(out)


class Reference:
    def __init__(self, folder):
        with open(os.path.join(folder, "config.json")) as file:
            self.c = json.load(file)
        self.w = {name: w.double() for name, w in load_file(os.path.join(folder, "model.safetensors")).items()}

    def levels(self, nets, ids):
        out = [self.w["model.embed_tokens.weight"][ids]]
        for net in nets:
            whole = len(out[-1]) // 32
            if not whole:
                break
            out.append(child_gists(net, out[-1][:whole * 32].view(whole, 32, -1)))
        return out

    def norm(self, x, name):
        return x / (x.pow(2).mean(-1, keepdim=True) + self.c["rms_norm_eps"]).sqrt() * self.w[name]

    def rotated(self, x, phases, sigmas):
        """x [entries, heads, dim]"""
        dim = self.c["head_dim"]
        out = x.clone()
        for pair in range(dim // 2):
            w = self.c["rope_theta"] ** (-2 * pair / dim)
            for row, (phase, sigma) in enumerate(zip(phases, sigmas)):
                damp = math.exp(-(sigma * w) ** 2 / 2)
                cos, sin = math.cos(phase * w) * damp, math.sin(phase * w) * damp
                a, b = x[row, :, pair], x[row, :, pair + dim // 2]
                out[row, :, pair], out[row, :, pair + dim // 2] = a * cos - b * sin, b * cos + a * sin
        return out

    def logits(self, nets, ids, tiling, sigma):
        """Logits of the last entry and the gists of the tiling."""
        levels, c = self.levels(nets, ids), self.c
        x = torch.stack([levels[level][start // 32 ** level] for level, start in tiling])
        gists = [row for row, (level, _) in zip(x, tiling) if level]
        spans = [32 ** level for level, _ in tiling]
        phases = [start + span / 2 if level else start for (level, start), span in zip(tiling, spans)]
        sigmas = [sigma * span / 2 if level else 0 for (level, _), span in zip(tiling, spans)]
        heads, group = c["num_attention_heads"], c["num_attention_heads"] // c["num_key_value_heads"]
        for layer in range(c["num_hidden_layers"]):
            at = f"model.layers.{layer}."
            h = self.norm(x, at + "input_layernorm.weight")
            q, k, v = ((h @ self.w[f"{at}self_attn.{part}_proj.weight"].T).view(len(x), -1, c["head_dim"]) for part in "qkv")
            q, k = self.rotated(q, phases, sigmas), self.rotated(k, phases, sigmas)
            mixed = []
            for head in range(heads):
                score = q[:, head] @ k[:, head // group].T / math.sqrt(c["head_dim"])
                score = score.masked_fill(torch.ones_like(score).triu(1).bool(), -math.inf)
                mixed.append(torch.softmax(score, 1) @ v[:, head // group])
            x = x + torch.cat(mixed, 1) @ self.w[at + "self_attn.o_proj.weight"].T
            h = self.norm(x, at + "post_attention_layernorm.weight")
            gate = h @ self.w[at + "mlp.gate_proj.weight"].T
            x = x + (gate / (1 + (-gate).exp()) * (h @ self.w[at + "mlp.up_proj.weight"].T)) @ self.w[at + "mlp.down_proj.weight"].T
        return self.w["lm_head.weight"] @ self.norm(x[-1], "model.norm.weight"), gists


def cases(words):
    """A few blocks of LOD1 among tokens, damped and not; one node of LOD2 and one of LOD1 before tokens."""
    def line(tokens, told):
        rng = random.Random(32)
        story = so.st.tell(rng, told, 6)
        thing = next(iter(story.state))
        return ([1] + words.encode(story.words))[:tokens - 5] + words.encode(so.st.question_words(thing))[:5]
    short, long = line(140, 150), line(1080, 1100)
    near = {0: 1, 64: 1, 96: 1}
    return [(short, near, 1.0), (short, near, 0.0), (long, {0: 2, 1024: 1}, 1.0)]


def main():
    parser = argparse.ArgumentParser(description="working contexts with gists in f64")
    parser.add_argument("--net", default=os.path.join(HERE, "demo.safetensors"))
    parser.add_argument("--out", default=os.path.join(HERE, "reference.json"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    flat = load_file(args.net)
    part = lambda level: {name.split(".")[2]: w for name, w in flat.items() if name.startswith(f"levels.{level}.")}
    trained = [part(1), part(2) or part(1)]
    model, other, out, apart = Reference(so.DEMO), nw.Frozen(so.DEMO), [], 0.0
    for ids, collapsed, sigma in cases(so.Words()):
        tiling, results = nw.tiling(len(ids), collapsed), {}
        for name, nets in (("mean", [None, None]), ("trained", trained)):
            logits, gists = model.logits([net and {k: w.double() for k, w in net.items()} for net in nets], ids, tiling, sigma)
            top = logits.topk(20)
            results[name] = {"gists": [[round(v, 7) for v in gist[:4].tolist()] for gist in gists],
                             "top": [[i, round(v, 6)] for i, v in zip(top.indices.tolist(), top.values.tolist())]}
            with torch.no_grad():
                tree = nw.tree_of(nets, other.embed(torch.tensor([ids])))
                f32 = other.forward(nw.rows_of(tree, [tiling]), nw.turns_of(other, [tiling], sigma))[0, -1] @ other.head
            apart = max(apart, float((f32 - logits).abs().max() / logits.abs().max()))
        out.append({"tokens": ids, "tiling": [{"level": level, "start": start} for level, start in tiling], "sigma": sigma, "results": results})
    with open(args.out, "w") as file:
        file.write('{"cases": [\n' + ",\n".join(json.dumps(case) for case in out) + "\n]}\n")
    print(f"{len(out)} cases; network.py in f32 is at most {apart:.1e} away, relative to the largest logit")
    raise SystemExit(apart > 1e-4)


if __name__ == "__main__":
    main()
