#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gates for learned eviction: stories to record, training from recordings, report.

    train.py stories --out STORIES.json                        texts for the demo model, with questions late in them
    kvlab run record.js -- STORIES.json DIR                    a pass over each; writes DIR/*.safetensors
    train.py train --data DIR --out gates.safetensors --report report.json

A recording (the verb recordLifespans; core/analysis/lifespans.h) has per layer keys before k-norm and rotation and labels
log4(lifespan). One MLP per layer and KV head, headDim -> hidden -> hidden -> hidden -> 1 with ReLU, AdamW, mean squared
error; where a lifespan is censored it is a lower bound, and only predictions below it count. Inputs are standardised in
training; the exported first matrix has that folded in. Stories are split, not rows. The report is about the
exported weights (bf16 and all) on stories that training never saw. Equal seeds and data give equal files on one machine.
Needs PyTorch and safetensors.
"""
import argparse
import glob
import json
import math
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def write_stories(args):
    sys.path.insert(0, os.path.join(HERE, "..", "demo"))
    import story as demo
    texts = []
    for number in range(args.count):
        rng = random.Random(args.seed * 100003 + number)
        tokens = rng.randint(args.shortest, args.longest)
        count = rng.randint(6, 14)
        # Every second story is first told and then asked about, the others are asked about on the way, too.
        told = tokens - 1 - 12 * rng.randint(3, count) if number % 2 else int((tokens - 1) * 0.7)
        story = demo.tell(rng, told, count, allowed="mixed", ask=0.0 if number % 2 else 3.0 / told * 5)
        while len(story.words) + 12 < tokens and demo.ask_one(rng, story):
            pass
        texts.append({"seed": args.seed * 100003 + number, "tokens": len(story.words) + 1, "questions": len(story.asked),
                      "text": " ".join(story.words)})
    with open(args.out, "w") as out:
        json.dump(texts, out)
    print(f"{len(texts)} stories, {sum(t['tokens'] for t in texts)} tokens, {sum(t['questions'] for t in texts)} questions")


def read_recordings(folder):
    """[{x [layers, heads, rows, dim], y [layers, heads, rows], censored}], metadata of the first."""
    import torch
    from safetensors import safe_open
    paths = sorted(glob.glob(os.path.join(folder, "*.safetensors")))
    if len(paths) < 2:
        raise SystemExit(f"{folder}: {len(paths)} recordings; training and validation need at least two")
    out, first = [], None
    for path in paths:
        with safe_open(path, "pt") as file:
            meta = file.metadata() or {}
            if meta.get("kvlab") != "lifespans":
                raise SystemExit(f"{path}: is no recording of recordLifespans")
            same = {k: meta[k] for k in ("model", "threshold", "cap")}
            if first is None:
                first = same
            if same != first:
                raise SystemExit(f"{path}: {same} differs from {first} of {paths[0]}; record all with one model and one rule")
            layers = sum(1 for name in file.keys() if name.endswith(".label"))
            every = lambda what: torch.stack([file.get_tensor(f"layers.{l}.{what}") for l in range(layers)])
            if "layers.0.keys" not in file.keys():
                raise SystemExit(f"{path}: has no keys; record with keys: true")
            out.append({"x": every("keys").permute(0, 2, 1, 3).contiguous(), "y": every("label"),
                        "censored": every("censored").bool(), "path": path})
    return out, first


def together(recordings):
    """x [gates, rows, dim], y [gates, rows], censored [gates, rows]"""
    import torch
    return tuple(torch.cat([r[name].flatten(0, 1) for r in recordings], 1) for name in ("x", "y", "censored"))


def forward(weights, x):
    """x [gates, rows, dim] -> [gates, rows]"""
    import torch
    for number in range(4):
        w, b = weights[2 * number], weights[2 * number + 1]
        x = torch.baddbmm(b.unsqueeze(1), x, w.transpose(1, 2))
        if number < 3:
            x = torch.relu(x)
    return x.squeeze(2)


def start(gates, dim, hidden, bias):
    import torch
    weights = []
    for inputs, outputs in ((dim, hidden), (hidden, hidden), (hidden, hidden), (hidden, 1)):
        weights += [torch.randn(gates, outputs, inputs) * math.sqrt(2 / inputs), torch.zeros(gates, outputs)]
    weights[6] *= 0.1
    weights[7] += bias.unsqueeze(1)
    return [w.requires_grad_() for w in weights]


def fit(weights, x, y, censored, args):
    import torch
    optimiser = torch.optim.AdamW(weights, lr=args.lr, weight_decay=args.decay)
    rows = x.shape[1]
    batch = min(args.batch, rows)
    steps, step, losses = args.epochs * ((rows + batch - 1) // batch), 0, []
    for epoch in range(args.epochs):
        order, total = torch.randperm(rows), 0.0
        for part in order.split(batch):
            for group in optimiser.param_groups:
                group["lr"] = args.lr * (0.02 + 0.49 * (1 + math.cos(math.pi * step / steps)))
            error = forward(weights, x[:, part]) - y[:, part]
            error = torch.where(censored[:, part], error.clamp(max=0), error)
            loss = error.square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.item() * len(part)
            step += 1
        losses.append(round(total / rows, 5))
        print(f"epoch {epoch + 1} of {args.epochs}: {losses[-1]}", flush=True)
    return losses


def folded(weights, mean, scale, dtype):
    """Weights for inputs as they are, rounded to the file's type."""
    import torch
    with torch.no_grad():
        out = [w.detach().clone() for w in weights]
        out[1] -= torch.einsum("goi,gi->go", out[0], mean / scale)
        out[0] /= scale.unsqueeze(1)
        return [w.to(dtype) if number % 2 == 0 else w for number, w in enumerate(out)]


def r2(predicted, actual):
    spread = (actual - actual.mean()).square().sum()
    return round(float(1 - (actual - predicted).square().sum() / spread), 4) if spread > 0 else None


def rank_correlation(a, b):
    """Spearman's, ties sharing their mean rank."""
    import torch

    def ranks(v):
        values, place, count = torch.unique(v, return_inverse=True, return_counts=True)
        end = count.cumsum(0).double()
        return (end - (count.double() - 1) / 2)[place]
    a, b = ranks(a), ranks(b)
    a, b = a - a.mean(), b - b.mean()
    size = a.norm() * b.norm()
    return round(float((a * b).sum() / size), 4) if size > 0 else None


def calibration(predicted, actual):
    """Mean of what came true per bin of half a power of 4 of the prediction."""
    bins = []
    for number in range(-1, 13):
        low, high = number / 2, number / 2 + 0.5
        inside = (predicted >= low) & (predicted < high)
        if inside.any():
            bins.append({"from": low, "to": high, "rows": int(inside.sum()), "predicted": round(float(predicted[inside].mean()), 4),
                         "actual": round(float(actual[inside].mean()), 4)})
    return bins


def report(weights, valid, heads):
    x, y, censored = valid
    predicted = forward([w.float() for w in weights], x)
    out = []
    for gate in range(len(x)):
        known = ~censored[gate]
        p, a = predicted[gate], y[gate]
        out.append({"layer": gate // heads, "head": gate % heads, "rows": int(known.sum()), "r2": r2(p[known], a[known]), "r2_with_censored": r2(p, a),
                    "rank_correlation": rank_correlation(p[known], a[known]), "mse": round(float((p - a)[known].square().mean()), 4),
                    "mean_label": round(float(a[known].mean()), 4), "calibration": calibration(p[known], a[known])})
    return out


def export(path, weights, heads, metadata):
    from safetensors.torch import save_file
    tensors = {}
    for layer in range(len(weights[0]) // heads):
        for number in range(4):
            for kind, w in (("w", weights[2 * number]), ("b", weights[2 * number + 1])):
                tensors[f"layers.{layer}.{kind}{number + 1}"] = w[layer * heads:(layer + 1) * heads].contiguous()
    beside = path + ".new"
    save_file(tensors, beside, metadata=metadata)
    os.replace(beside, path)


def train(args):
    import torch
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(args.seed)
    began = time.process_time()
    recordings, meta = read_recordings(args.data)
    random.Random(args.seed).shuffle(recordings)
    held = max(1, round(len(recordings) * 0.1))
    heads = recordings[0]["x"].shape[1]
    x, y, censored = together(recordings[held:])
    valid = together(recordings[:held])
    mean, scale = x.mean(1), x.std(1).clamp(min=1e-6)
    weights = start(len(x), x.shape[2], args.hidden, y.mean(1))
    losses = fit(weights, (x - mean.unsqueeze(1)) / scale.unsqueeze(1), y, censored, args)
    with torch.no_grad():
        weights = folded(weights, mean, scale, {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[args.dtype])
        gates = report(weights, valid, heads)
    export(args.out, weights, heads, {"kvlab": "gates", "input": args.input, "seed": str(args.seed), **meta})
    seconds = time.process_time() - began
    summary = {"model": meta["model"], "threshold": float(meta["threshold"]), "cap": float(meta["cap"]), "input": args.input, "dtype": args.dtype, "hidden": args.hidden,
               "seed": args.seed, "epochs": args.epochs, "batch": args.batch, "lr": args.lr, "weight_decay": args.decay,
               "stories": {"training": len(recordings) - held, "validation": held},
               "rows": {"training": x.shape[1], "validation": valid[0].shape[1], "censored": round(float(censored.float().mean()), 4)},
               "loss": losses, "cpu_seconds": round(seconds), "torch": torch.__version__, "gates": gates}
    with open(args.report, "w") as out:
        json.dump(summary, out, indent=1)
        out.write("\n")
    for gate in gates:
        print(f"layer {gate['layer']} head {gate['head']}: R2 {gate['r2']}, rank correlation {gate['rank_correlation']}")
    print(f"{seconds:.0f} s of CPU time")


def main():
    parser = argparse.ArgumentParser(description="gates for learned eviction")
    commands = parser.add_subparsers(dest="command", required=True)
    stories = commands.add_parser("stories", help="texts for the demo model")
    stories.add_argument("--out", required=True)
    stories.add_argument("--count", type=int, default=80)
    stories.add_argument("--seed", type=int, default=7)
    stories.add_argument("--shortest", type=int, default=512)
    stories.add_argument("--longest", type=int, default=1000)
    stories.set_defaults(run=write_stories)
    trained = commands.add_parser("train", help="gates from recordings")
    trained.add_argument("--data", required=True, help="folder of recordings")
    trained.add_argument("--out", required=True)
    trained.add_argument("--report", required=True)
    trained.add_argument("--hidden", type=int, default=256)
    trained.add_argument("--epochs", type=int, default=12)
    trained.add_argument("--batch", type=int, default=4096)
    trained.add_argument("--lr", type=float, default=1e-3)
    trained.add_argument("--decay", type=float, default=0.01)
    trained.add_argument("--seed", type=int, default=1)
    trained.add_argument("--threads", type=int, default=1)
    trained.add_argument("--dtype", choices=("bf16", "f16", "f32"), default="bf16")
    trained.add_argument("--input", choices=("pre_rope", "post_rope"), default="pre_rope",
                         help="what kvlab feeds them; post_rope gives rotated keys to gates trained on unrotated ones, the origin's mismatch")
    trained.set_defaults(run=train)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
