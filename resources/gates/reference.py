#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lifespans of a Llama model's keys in PyTorch, written independently of kvlab, in f32. kvlab's recordings read K and V as
its session stores them, bf16 for the demo model unless the manifest says f32, and are that much apart.

    reference.py record --texts STORIES.json --out DIR --fingerprint WORD    recordings as recordLifespans writes them
    reference.py compare --data DIR                                          how far recordings of kvlab are from it

Plain Llama directories (no biases, default rotary embedding, one file) with tokenizer.model; the demo model unless --model
names another. Needs PyTorch, safetensors and sentencepiece.
"""
import argparse
import glob
import json
import os

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))


class Llama:
    def __init__(self, folder):
        with open(os.path.join(folder, "config.json")) as file:
            self.config = json.load(file)
        if self.config["model_type"] != "llama" or self.config.get("rope_scaling") or self.config.get("attention_bias"):
            raise SystemExit(f"{folder}: is no plain Llama model")
        self.weights = {name: w.float() for name, w in load_file(os.path.join(folder, "model.safetensors")).items()}

    def norm(self, x, name):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.config["rms_norm_eps"]) * self.weights[name]

    def rotary(self, n):
        dim = self.config["head_dim"]
        angles = torch.arange(n, dtype=torch.float64)[:, None] * self.config["rope_theta"] ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        cos, sin = angles.cos().float(), angles.sin().float()

        def turn(x):
            low, high = x[..., :dim // 2], x[..., dim // 2:]
            return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)
        return turn

    def layers(self, ids):
        """Per layer keys before rotation [rows, kvHeads, dim] and attention [heads, queries, rows]."""
        c, n, w = self.config, len(ids), self.weights
        heads, kv_heads, dim = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        turn, mask = self.rotary(n), torch.full((n, n), float("-inf")).triu(1)
        x = w["model.embed_tokens.weight"][torch.tensor(ids)]
        for layer in range(c["num_hidden_layers"]):
            at = f"model.layers.{layer}."
            h = self.norm(x, at + "input_layernorm.weight")
            q, k, v = ((h @ w[f"{at}self_attn.{name}_proj.weight"].T).view(n, -1, dim).transpose(0, 1) for name in "qkv")
            group = heads // kv_heads
            scores = turn(q) @ turn(k).repeat_interleave(group, 0).transpose(1, 2) * dim ** -0.5
            attention = torch.softmax(scores + mask, -1)
            yield k.transpose(0, 1).contiguous(), attention
            mixed = (attention @ v.repeat_interleave(group, 0)).transpose(0, 1).reshape(n, -1)
            x = x + mixed @ w[at + "self_attn.o_proj.weight"].T
            h = self.norm(x, at + "post_attention_layernorm.weight")
            gate = torch.nn.functional.silu(h @ w[at + "mlp.gate_proj.weight"].T)
            x = x + (gate * (h @ w[at + "mlp.up_proj.weight"].T)) @ w[at + "mlp.down_proj.weight"].T


@torch.no_grad()
def record(model, ids, after, threshold, cap, stretch):
    n, kv_heads = len(ids), model.config["num_key_value_heads"]
    position = torch.arange(n)
    out = {"tokens": torch.tensor(ids, dtype=torch.int32)}
    for layer, (keys, attention) in enumerate(model.layers(ids)):
        largest = attention.view(kv_heads, -1, n, n).amax(1)
        last = torch.where(largest > threshold, position[None, :, None], -1).amax(1)
        lifespan = (last - position).clamp(min=1)
        one = {"last_use": last.int(), "lifespan": lifespan.int(), "label": (lifespan.double().log2() / 2).float().clamp(max=cap),
               "censored": (torch.maximum(last, position) > n - 1 - stretch).to(torch.uint8),
               "mass": attention[:, after + 1:].sum(1).view(kv_heads, -1, n).mean(1), "keys": keys}
        out.update({f"layers.{layer}.{name}": tensor.contiguous() for name, tensor in one.items()})
    return out


def write_all(args):
    import sentencepiece
    model = Llama(args.model)
    words = sentencepiece.SentencePieceProcessor(model_file=os.path.join(args.model, "tokenizer.model"))
    os.makedirs(args.out, exist_ok=True)
    with open(args.texts) as file:
        texts = json.load(file)
    for number, one in enumerate(texts):
        ids = [words.bos_id()] + words.encode(one["text"])
        tensors = record(model, ids, -1, 0.05, 6.0, 32)
        metadata = {"kvlab": "lifespans", "model": args.fingerprint, "rows": str(len(ids)), "after": "-1", "threshold": "0.05", "cap": "6", "stretch": "32"}
        save_file(tensors, os.path.join(args.out, f"{number:04d}.safetensors"), metadata=metadata)
    print(f"{len(texts)} recordings")


def compare(args):
    model = Llama(args.model)
    labels = equal = 0
    keys = mass = 0.0
    for path in sorted(glob.glob(os.path.join(args.data, "*.safetensors"))):
        with safe_open(path, "pt") as file:
            meta = file.metadata()
            wanted = record(model, file.get_tensor("tokens").tolist(), int(meta["after"]), float(meta["threshold"]), float(meta["cap"]), int(meta["stretch"]))
            for name, tensor in wanted.items():
                got = file.get_tensor(name)
                if name.endswith(".last_use"):
                    labels += tensor.numel()
                    equal += int((got == tensor).sum())
                elif name.endswith((".keys", ".mass")):
                    apart = float((got - tensor).norm() / tensor.norm().clamp(min=1e-12))
                    keys, mass = (max(keys, apart), mass) if name.endswith(".keys") else (keys, max(mass, apart))
    if not labels:
        raise SystemExit(f"{args.data}: no recordings")
    print(f"{equal} of {labels} last uses are equal ({100 * equal / labels:.3f} %); largest relative L2: keys {keys:.2e}, mass {mass:.2e}")
    return 0 if equal >= 0.99 * labels and keys < 1e-2 and mass < 2e-2 else 1


def main():
    parser = argparse.ArgumentParser(description="lifespans in PyTorch")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, run in (("record", write_all), ("compare", compare)):
        command = commands.add_parser(name)
        command.add_argument("--model", default=os.path.join(HERE, "..", "demo"))
        command.set_defaults(run=run)
        if name == "record":
            command.add_argument("--texts", required=True)
            command.add_argument("--out", required=True)
            command.add_argument("--fingerprint", required=True, help="of the model, as kvlab writes it into recordings")
        else:
            command.add_argument("--data", required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    raise SystemExit(args.run(args))


if __name__ == "__main__":
    main()
