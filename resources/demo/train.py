#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains, exports and measures the demo model on one CPU thread.

    train.py train  --work DIR [--steps N] [--resume]    a leg; checkpoint in DIR every few minutes
    train.py export --work DIR --out resources/demo      config.json, model.safetensors (bf16), loss.csv
    train.py eval   --model DIR [--stories N]            tables by context length, distance and edit
    train.py compare --work DIR --model DIR              the export against transformers and the checkpoint

The model is a plain Llama decoder. Two things make retrieval appear within minutes: layer 0 starts with
six heads that look back 1..6 tokens (all weights are trained), and the length grows 64 -> 1024 only as
the replies become right. Loss weights: the deciding tokens of a reply 1, other tokens at most 0.1.
Positions: per sequence a random start and, in half of the sequences, random gaps, up to MAX_POSITION.
"""
import argparse
import csv
import json
import math
import os
import random
import time

import torch
import torch.nn.functional as F

import story as st

D, LAYERS, HEADS, KV_HEADS, HEAD_DIM, FFN = 192, 4, 6, 2, 32, 384
THETA, EPS, MAX_POSITION = 10000.0, 1e-5, 2048
LENGTHS = (64, 128, 256, 512, 1024)
BATCH_TOKENS = 4096
PAD = 2


def config(vocab):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": vocab,
            "hidden_size": D, "intermediate_size": FFN, "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM,
            "hidden_act": "silu", "rms_norm_eps": EPS, "rope_theta": THETA,
            "max_position_embeddings": MAX_POSITION, "attention_bias": False, "mlp_bias": False,
            "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "bfloat16"}


# ---- model: parameters in a dict under their Hugging Face names ----

def init_params(vocab, seed):
    g = torch.Generator().manual_seed(seed)

    def normal(rows, cols, std):
        return torch.randn(rows, cols, generator=g) * std
    common = torch.randn(D, generator=g)
    common = common / common.norm() * math.sqrt(D)
    p = {"model.embed_tokens.weight": (normal(vocab, D, 1.0) + common) * 0.7,
         "lm_head.weight": torch.zeros(vocab, D), "model.norm.weight": torch.ones(D)}
    for layer in range(LAYERS):
        n = f"model.layers.{layer}."
        p[n + "input_layernorm.weight"] = torch.ones(D)
        p[n + "post_attention_layernorm.weight"] = torch.ones(D)
        p[n + "self_attn.q_proj.weight"] = normal(HEADS * HEAD_DIM, D, 0.05)
        p[n + "self_attn.k_proj.weight"] = normal(KV_HEADS * HEAD_DIM, D, 0.05)
        p[n + "self_attn.v_proj.weight"] = normal(KV_HEADS * HEAD_DIM, D, 0.07)
        p[n + "self_attn.o_proj.weight"] = normal(D, HEADS * HEAD_DIM, 0.03)
        p[n + "mlp.gate_proj.weight"] = normal(FFN, D, 0.07)
        p[n + "mlp.up_proj.weight"] = normal(FFN, D, 0.07)
        p[n + "mlp.down_proj.weight"] = normal(D, FFN, 0.02)
    shift_heads(p, common)
    return {k: v.requires_grad_() for k, v in p.items()}


def shift_heads(p, common):
    """Head h of layer 0 looks back h + 1 tokens: along the common direction of all embeddings the key is
    constant and the query is turned by -(h + 1) steps, in the five fastest rotary pairs."""
    unit, along = common / common.norm(), math.sqrt(D / 2)
    freq = THETA ** (-torch.arange(0, HEAD_DIM, 2) / HEAD_DIM)
    amp = math.sqrt(6.0 * math.sqrt(HEAD_DIM)) / along
    q = torch.zeros(HEADS * HEAD_DIM, D)
    k = torch.zeros(KV_HEADS * HEAD_DIM, D)
    for i in range(5):
        for h in range(HEADS):
            angle = float(freq[i]) * (h + 1)
            q[h * HEAD_DIM + i] = amp * math.cos(angle) * unit
            q[h * HEAD_DIM + i + HEAD_DIM // 2] = -amp * math.sin(angle) * unit
        for h in range(KV_HEADS):
            k[h * HEAD_DIM + i] = amp * unit
    n = "model.layers.0.self_attn."
    p[n + "q_proj.weight"] = p[n + "q_proj.weight"] * 0.4 + q
    p[n + "k_proj.weight"] = p[n + "k_proj.weight"] * 0.4 + k


def rope_table():
    freq = THETA ** (-torch.arange(0, HEAD_DIM, 2).double() / HEAD_DIM)
    angle = torch.arange(2 * MAX_POSITION).double()[:, None] * freq[None]
    return torch.cat([angle.cos(), angle.cos()], 1).float(), torch.cat([-angle.sin(), angle.sin()], 1).float()


COS, SIN = rope_table()


def rotate(x, cos, sin):
    half = HEAD_DIM // 2
    return x * cos + torch.cat([x[..., half:], x[..., :half]], -1) * sin


def attention(p, n, x, cos, sin, mask):
    b, t, _ = x.shape
    q = (x @ p[n + "q_proj.weight"].T).view(b, t, HEADS, HEAD_DIM).transpose(1, 2)
    k = (x @ p[n + "k_proj.weight"].T).view(b, t, KV_HEADS, HEAD_DIM).transpose(1, 2)
    v = (x @ p[n + "v_proj.weight"].T).view(b, t, KV_HEADS, HEAD_DIM).transpose(1, 2)
    group = HEADS // KV_HEADS
    q, k = rotate(q, cos, sin), rotate(k, cos, sin).repeat_interleave(group, 1)
    out = F.scaled_dot_product_attention(q, k, v.repeat_interleave(group, 1), attn_mask=mask,
                                         is_causal=mask is None)
    return out.transpose(1, 2).reshape(b, t, HEADS * HEAD_DIM) @ p[n + "o_proj.weight"].T


def forward(p, ids, positions, mask=None):
    """ids, positions [b, t] -> hidden state after the final norm [b, t, D]."""
    cos, sin = COS[positions][:, None], SIN[positions][:, None]
    x = p["model.embed_tokens.weight"][ids]
    for layer in range(LAYERS):
        n = f"model.layers.{layer}."
        h = F.rms_norm(x, (D,), p[n + "input_layernorm.weight"], EPS)
        x = x + attention(p, n + "self_attn.", h, cos, sin, mask)
        h = F.rms_norm(x, (D,), p[n + "post_attention_layernorm.weight"], EPS)
        h = F.silu(h @ p[n + "mlp.gate_proj.weight"].T) * (h @ p[n + "mlp.up_proj.weight"].T)
        x = x + h @ p[n + "mlp.down_proj.weight"].T
    return F.rms_norm(x, (D,), p["model.norm.weight"], EPS)


# ---- optimiser: Muon for the matrices inside the layers, Adam for the rest ----

def orthogonal(m):
    """Newton-Schulz iteration towards the nearest orthogonal matrix, for a stack [n, rows, cols]."""
    tall = m.shape[1] > m.shape[2]
    x = m.transpose(1, 2) if tall else m
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return x.transpose(1, 2) if tall else x


class Optimiser:
    def __init__(self, p):
        self.groups = {}
        for name, w in p.items():
            if "_proj" in name:
                self.groups.setdefault(tuple(w.shape), []).append(name)
        self.momentum = {n: torch.zeros_like(w) for n, w in p.items()}
        self.second = {n: torch.zeros_like(w) for n, w in p.items() if "_proj" not in n}
        self.steps = 0

    @torch.no_grad()
    def step(self, p, scale, muon_lr, adam_lr):
        self.steps += 1
        for shape, names in self.groups.items():
            for n in names:
                self.momentum[n].lerp_(p[n].grad, 0.05)
            update = orthogonal(torch.stack([p[n].grad.lerp(self.momentum[n], 0.95) for n in names]))
            rate = muon_lr * scale * math.sqrt(max(1.0, shape[0] / shape[1]))
            for n, u in zip(names, update):
                p[n].mul_(1 - 0.02 * muon_lr * scale).sub_(u, alpha=rate)
        for n, second in self.second.items():
            g = p[n].grad
            self.momentum[n].lerp_(g, 0.1)
            second.lerp_(g * g, 0.02)
            m = self.momentum[n] / (1 - 0.9 ** self.steps)
            v = second / (1 - 0.98 ** self.steps)
            p[n].sub_(m / (v.sqrt() + 1e-9), alpha=adam_lr * scale)
        for w in p.values():
            w.grad = None


# ---- data ----

class Words:
    """Word -> token, straight from tokenizer.model (every word is one token)."""

    def __init__(self, folder):
        import sentencepiece
        self.processor = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "tokenizer.model"))
        self.size = self.processor.get_piece_size()
        self.token = {}
        for word in st.vocabulary():
            ids = self.processor.encode(word)
            assert len(ids) == 1, word
            self.token[word] = ids[0]

    def encode(self, words):
        return [self.token[w] for w in words]


def random_positions(rng, length, gaps=False):
    """Strictly increasing positions below MAX_POSITION: random start, gaps in half of the cases (or always)."""
    steps = [0] * length
    kind = rng.random() * (0.5 if gaps else 1.0)
    room = MAX_POSITION - length
    if kind < 0.5:
        rate, largest = (0.01, 24) if kind < 0.25 else (0.06, 6)
        for i in range(1, length):
            if rng.random() < rate:
                steps[i] = min(rng.randint(1, largest), room)
                room -= steps[i]
    start = rng.randint(0, room) if rng.random() < 0.5 else 0
    out, here = [], start
    for i in range(length):
        here += steps[i]
        out.append(here + i)
    return out


def batch(rng, words, length):
    """ids, positions, targets [b, t] and weights [b, t]; weight 1 marks what decides a reply."""
    rows = BATCH_TOKENS // length
    ids = torch.full((rows, length + 1), PAD)
    weights = torch.zeros(rows, length + 1)
    places = torch.zeros(rows, length + 1, dtype=torch.bool)
    positions = torch.empty(rows, length, dtype=torch.long)
    for r in range(rows):
        story = st.training_story(rng, length)
        tokens = ([1] + words.encode(story.words))[:length + 1]
        ids[r, :len(tokens)] = torch.tensor(tokens)
        weights[r, 1:len(tokens)] = 0.1 * min(1.0, 128 / length)
        for asked in story.asked:
            if asked["wrong"]:
                weights[r, asked["reply"]:asked["end"]] = 0.0
                continue
            for at in (asked["reply"], asked["reply"] + 4)[:1 if asked["fact"] is None else 2]:
                if at <= length:
                    weights[r, at] = 1.0
                    places[r, at] = at != asked["reply"]
        positions[r] = torch.tensor(random_positions(rng, length))
    return ids[:, :-1], positions, ids[:, 1:], weights[:, 1:], places[:, 1:]


def pick_length(rng, level):
    """Mostly the current length; shorter ones stay in the mix, the next one is tried now and then."""
    if level + 1 == len(LENGTHS):
        return rng.choices(LENGTHS, (1, 2, 3, 5, 4))[0]
    draw = rng.random()
    if draw < 0.1:
        return LENGTHS[level + 1]
    if draw < 0.4 and level > 0:
        return LENGTHS[rng.randrange(level)]
    return LENGTHS[level]


# ---- training ----

def schedule(step, steps):
    if step < 40:
        return (step + 1) / 40
    return min(1.0, max(0.03, (steps - step) / (0.6 * steps)))


def train_step(p, optimiser, rng, words, length, scale, args):
    ids, positions, targets, weights, places = batch(rng, words, length)
    hidden = forward(p, ids, positions)
    used = weights > 0
    logits = hidden[used] @ p["lm_head.weight"].T
    losses = F.cross_entropy(logits, targets[used], reduction="none")
    w = weights[used]
    ((losses * w).sum() / w.sum()).backward()
    optimiser.step(p, scale, args.muon_lr, args.adam_lr)
    with torch.no_grad():
        hit = (logits.argmax(1) == targets[used]).float()
        place, key = places[used], w == 1
        return (float(losses.detach()[~key].mean()), float(losses.detach()[key].mean()),
                float(hit[place].mean()), float(hit[key & ~place].mean()))


def save(path, state):
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)


def train(args):
    words = Words(args.data)
    rng = random.Random(args.seed)
    p = init_params(words.size, args.seed)
    optimiser, step, level, ema, log, spent = Optimiser(p), 0, 0, {}, [], 0.0
    path = os.path.join(args.work, "checkpoint.pt")
    os.makedirs(args.work, exist_ok=True)
    if args.resume and os.path.exists(path):
        s = torch.load(path, weights_only=False)
        p = {k: v.requires_grad_() for k, v in s["params"].items()}
        optimiser.__dict__.update(s["optimiser"])
        step, level, ema, log, spent = s["step"], s["level"], s["ema"], s["log"], s["spent"]
        rng.setstate(s["rng"])
    start = saved = shown = time.time()
    recent = []
    while step < args.steps:
        length = pick_length(rng, level)
        values = train_step(p, optimiser, rng, words, length, schedule(step, args.steps), args)
        step += 1
        recent.append(values)
        ema[length] = 0.95 * ema.get(length, 0.0) + 0.05 * values[2]
        if level + 1 < len(LENGTHS) and ema.get(LENGTHS[level], 0) > args.advance:
            level += 1
        if step % 25 == 0:
            mean = [round(sum(v[i] for v in recent) / len(recent), 4) for i in range(4)]
            recent = []
            log.append([step, round(spent + time.time() - start), LENGTHS[level]] + mean)
            print(*log[-1], {k: round(v, 2) for k, v in ema.items()}, flush=True)
        if time.time() - saved > 120 or step == args.steps:
            saved = time.time()
            save(path, {"params": {k: v.detach() for k, v in p.items()}, "optimiser": optimiser.__dict__,
                        "step": step, "level": level, "ema": ema, "log": log, "rng": rng.getstate(),
                        "spent": spent + time.time() - start, "seed": args.seed, "steps": args.steps})


def export(args):
    from safetensors.torch import save_file
    s = torch.load(os.path.join(args.work, "checkpoint.pt"), weights_only=False)
    params = {k: v.to(torch.bfloat16).contiguous() for k, v in s["params"].items()}
    save_file(params, os.path.join(args.out, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(args.out, "config.json"), "w") as out:
        json.dump(config(params["lm_head.weight"].shape[0]), out, indent=2)
        out.write("\n")
    with open(os.path.join(args.out, "loss.csv"), "w", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow("step seconds length text_loss reply_loss place_accuracy first_word_accuracy".split())
        table.writerows(s["log"])
    print(sum(v.numel() for v in params.values()), "parameters, step", s["step"], "seconds", round(s["spent"]))


def main():
    parser = argparse.ArgumentParser(description="train, export and measure the demo model")
    parser.add_argument("verb", choices=["train", "export", "eval", "compare"])
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--data", default=here, help="folder of tokenizer.model")
    parser.add_argument("--work", default="demo_work", help="folder of the resumable checkpoint")
    parser.add_argument("--out", default=here)
    parser.add_argument("--model", default=here, help="exported folder to measure")
    parser.add_argument("--stories", type=int, default=40, help="stories per context length")
    parser.add_argument("--steps", type=int, default=1800)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--muon-lr", type=float, default=0.015)
    parser.add_argument("--adam-lr", type=float, default=0.004)
    parser.add_argument("--advance", type=float, default=0.85, help="accuracy that lengthens the stories")
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.verb in ("eval", "compare"):
        import evaluate
        return (evaluate.run if args.verb == "eval" else evaluate.compare)(args)
    return train(args) if args.verb == "train" else export(args)


if __name__ == "__main__":
    main()
