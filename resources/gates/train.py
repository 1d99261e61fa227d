#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gates for learned eviction from recordings; `kvlab train gates` records and then calls this.

    train.py --data DIR --out gates.safetensors        report.json and report.txt are written to DIR

A recording (core/analysis/lifespans.h) has per layer keys before k-norm and rotation, labels log4(lifespan), and the
attention that the second half of the window pays to each row. One MLP per layer and KV head, headDim -> hidden ->
hidden -> hidden -> 1 with ReLU, AdamW, mean squared error; where a lifespan is censored it is a lower bound, and only
predictions below it count. Inputs are standardised in training; the exported first matrix has that folded in. Every
tenth window is held out. The report is about the exported weights (bf16 and all) on these windows. Layers are trained
one after the other, and a trained layer stays in DIR/layers, so that a second run goes on behind it. Equal seeds and
data give equal tensors on one machine. Needs PyTorch and safetensors.
"""
import argparse
import math
import os
import statistics
import sys
import time

import torch
from safetensors import safe_open
from safetensors.torch import save_file

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import kvlab_training as kt  # noqa: E402

RATIO = 0.25        # share of a window's first half that a policy keeps
SINKS, WINDOW = 4, 100  # bands of smartkv
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


class Keys(kt.Recordings):
    """A layer is read when it is asked for."""

    def __init__(self, folder):
        super().__init__(folder, "layers.0.keys")
        with safe_open(self.paths[0], "pt") as file:
            self.layers = sum(1 for name in file.keys() if name.endswith(".label"))

    def layer(self, paths, number):
        """Per window keys [heads, rows, dim], labels, censored and mass [heads, rows], and the last row of its first half."""
        for path in paths:
            with safe_open(path, "pt") as file:
                part = lambda what: file.get_tensor(f"layers.{number}.{what}")
                yield {"x": part("keys").permute(1, 0, 2), "y": part("label"), "censored": part("censored").bool(),
                       "mass": part("mass"), "after": int(file.metadata()["after"])}


def together(windows):
    return tuple(torch.cat([w[name] for w in windows], 1) for name in ("x", "y", "censored"))


def forward(weights, x):
    """x [gates, rows, dim] -> [gates, rows]"""
    for number in range(4):
        w, b = weights[2 * number], weights[2 * number + 1]
        x = torch.baddbmm(b.unsqueeze(1), x, w.transpose(1, 2))
        if number < 3:
            x = torch.relu(x)
    return x.squeeze(2)


def start(gates, dim, hidden, bias):
    weights = []
    for inputs, outputs in ((dim, hidden), (hidden, hidden), (hidden, hidden), (hidden, 1)):
        weights += [torch.randn(gates, outputs, inputs) * math.sqrt(2 / inputs), torch.zeros(gates, outputs)]
    weights[6] *= 0.1
    weights[7] += bias.unsqueeze(1)
    return [w.requires_grad_() for w in weights]


def fit(weights, x, y, censored, args):
    optimiser = torch.optim.AdamW(weights, lr=args.lr, weight_decay=args.decay)
    rows = x.shape[1]
    batch = min(args.batch, rows)
    steps, step, losses = args.epochs * ((rows + batch - 1) // batch), 0, []
    for _ in range(args.epochs):
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
    return losses


def folded(weights, mean, scale, dtype):
    """Weights for inputs as they are, rounded to the file's type."""
    with torch.no_grad():
        out = [w.detach().clone() for w in weights]
        out[1] -= torch.einsum("goi,gi->go", out[0], mean / scale)
        out[0] /= scale.unsqueeze(1)
        return [w.to(dtype) if number % 2 == 0 else w for number, w in enumerate(out)]


# ---- figures ----

def r2(predicted, actual):
    spread = (actual - actual.mean()).square().sum()
    return round(float(1 - (actual - predicted).square().sum() / spread), 4) if spread > 0 else None


def rank_correlation(a, b):
    """Spearman's, ties sharing their mean rank."""
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


def in_bands(scores, keep):
    """Scores in which sinks and the last rows come first, as smartkv with a ratio has them."""
    window = min(WINDOW, max(0, keep - SINKS) // 2)
    out = scores.clone()
    out[:, :SINKS] = math.inf
    if window:
        out[:, -window:] = math.inf
    return out


def choices(scores, mass, generator):
    """The rows of the first half that each way of choosing keeps: `recall` of the rows that the oracle keeps, and the
    share of the attention that the second half pays them. scores and mass [heads, rows]."""
    rows = mass.shape[1]
    keep = max(SINKS + 1, int(rows * RATIO))
    oracle = torch.zeros_like(mass, dtype=torch.bool).scatter_(1, mass.topk(keep).indices, True)
    recent = torch.arange(rows).float().expand_as(mass).clone()
    recent[:, :SINKS] = math.inf
    drawn = in_bands(torch.rand(mass.shape, generator=generator), keep)
    out = {}
    for name, by in (("gates", in_bands(scores, keep)), ("gates_alone", scores), ("streaming_llm", recent), ("random", drawn), ("oracle", mass)):
        chosen = torch.zeros_like(oracle).scatter_(1, by.topk(keep).indices, True)
        out[name] = ((chosen & oracle).sum(1) / keep, (mass * chosen).sum(1) / mass.sum(1).clamp(min=1e-9))
    return out


def measure(weights, windows, layer):
    """A row of figures for each KV head of a layer, over held-out windows."""
    weights = [w.float() for w in weights]
    x, y, censored = together(windows)
    predicted, out = forward(weights, x), []
    for head in range(len(x)):
        known = ~censored[head]
        p, a = predicted[head], y[head]
        out.append({"layer": layer, "head": head, "rows": int(known.sum()), "r2": r2(p[known], a[known]), "r2_with_censored": r2(p, a),
                    "rank_correlation": rank_correlation(p[known], a[known]), "mse": round(float((p - a)[known].square().mean()), 4),
                    "mean_label": round(float(a[known].mean()), 4), "calibration": calibration(p[known], a[known])})
    generator, kept = torch.Generator().manual_seed(layer), []
    for w in windows:
        half = w["after"] + 1
        kept.append(choices(forward(weights, w["x"])[:, :half], w["mass"][:, :half], generator))
    for head, row in enumerate(out):
        for place, figure in enumerate(("recall", "attention")):
            row[figure] = {name: round(sum(float(one[name][place][head]) for one in kept) / len(kept), 4) for name in kept[0]}
    return out


# ---- files ----

def train_layer(recordings, number, args):
    torch.manual_seed(args.seed * 1009 + number)
    x, y, censored = together(list(recordings.layer(recordings.learnt, number)))
    mean, scale = x.mean(1), x.std(1).clamp(min=1e-6)
    weights = start(len(x), x.shape[2], args.hidden, y.mean(1))
    losses = fit(weights, (x - mean.unsqueeze(1)) / scale.unsqueeze(1), y, censored, args)
    with torch.no_grad():
        weights = folded(weights, mean, scale, TYPES[args.dtype])
        gates = measure(weights, list(recordings.layer(recordings.held, number)), number)
    return {"weights": weights, "losses": losses, "gates": gates, "rows": [x.shape[1], sum(r["rows"] for r in gates) // len(gates)],
            "censored": float(censored.float().mean())}


def trained_layers(recordings, args, settings):
    """Trains each layer, or reads what an earlier run with the same settings left of it."""
    folder, began, fresh = os.path.join(args.data, "layers"), time.time(), 0
    os.makedirs(folder, exist_ok=True)
    for number in range(recordings.layers):
        path = os.path.join(folder, f"{number:03d}.pt")
        layer = kt.saved(path, settings)
        if not layer:
            layer = train_layer(recordings, number, args)
            kt.save(path, settings, layer)
            fresh += 1
        left = (time.time() - began) / fresh * (recordings.layers - number - 1) if fresh else 0
        kt.say(f"gates: layer {number + 1} of {recordings.layers}: loss {layer['losses'][-1]:.3f}, R2 on held-out text "
               + " ".join(kt.shown(gate["r2"]) for gate in layer["gates"]) + f", {left:.0f} s left")
        yield layer


def export(path, layers, metadata):
    tensors = {f"layers.{number}.{kind}{stage + 1}": layer["weights"][2 * stage + place].contiguous()
               for number, layer in enumerate(layers) for stage in range(4) for place, kind in enumerate("wb")}
    kt.write_whole(path, lambda name: save_file(tensors, name, metadata=metadata))
    os.chmod(path, 0o644)


def summary(recordings, layers, args, settings):
    gates = [gate for layer in layers for gate in layer["gates"]]
    mean = lambda figure, name, some: round(statistics.fmean(g[figure][name] for g in some), 4)
    names = list(gates[0]["recall"])
    by_layer = [{"layer": number, "r2": kt.spread([g["r2"] for g in layer["gates"]]),
                 **{figure: {name: mean(figure, name, layer["gates"]) for name in names} for figure in ("recall", "attention")}}
                for number, layer in enumerate(layers)]
    return {"model": recordings.meta["model"], "threshold": float(recordings.meta["threshold"]), "cap": float(recordings.meta["cap"]),
            "settings": settings, "torch": torch.__version__,
            "windows": {"training": len(recordings.learnt), "held_out": len(recordings.held)},
            "rows": {"training": layers[0]["rows"][0], "held_out_known": layers[0]["rows"][1],
                     "censored": round(statistics.fmean(layer["censored"] for layer in layers), 4)},
            "r2": kt.spread([g["r2"] for g in gates]), "rank_correlation": kt.spread([g["rank_correlation"] for g in gates]),
            "ratio": RATIO, **{figure: {name: mean(figure, name, gates) for name in names} for figure in ("recall", "attention")},
            "layers": by_layer, "loss": [layer["losses"] for layer in layers], "gates": gates}


def as_text(all_of_it):
    s, lines = all_of_it, []
    lines.append(f"gates for model {s['model']}: {s['rows']['training']} examples per KV head from {s['windows']['training']} windows; "
                 f"{s['windows']['held_out']} windows held out")
    lines.append(f"R2 of log4(lifespan) on held-out text: median {kt.shown(s['r2']['median'])}, {kt.shown(s['r2']['min'])} to {kt.shown(s['r2']['max'])}"
                 if s["r2"] else "R2 of log4(lifespan) on held-out text: no spread in the labels")
    lines.append(f"Of the rows of a window's first half {s['ratio']:.0%} stay. recall: of the rows that the oracle keeps; attention: of what the "
                 "second half pays the first. gates and random have the bands of smartkv.")
    lines.append(f"{'':>8} {'R2':>6} " + " ".join(f"{name:>14}" for name in s["recall"]))
    lines.append(f"{'':>15} " + " ".join(f"{'recall':>6} {'attn':>6} " for _ in s["recall"]))
    for row in s["layers"]:
        lines.append(f"layer {row['layer']:>2} {kt.shown(row['r2'] and row['r2']['median']):>6} "
                     + " ".join(f"{row['recall'][n]:>6.1%} {row['attention'][n]:>6.1%} " for n in row["recall"]))
    lines.append(f"{'all':>8} {kt.shown(s['r2'] and s['r2']['median']):>6} " + " ".join(f"{s['recall'][n]:>6.1%} {s['attention'][n]:>6.1%} " for n in s["recall"]))
    return "\n".join(lines) + "\n"


def train(args):
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True)
    recordings = Keys(args.data)
    settings = {name: getattr(args, name) for name in ("hidden", "epochs", "batch", "lr", "decay", "seed", "dtype", "input")}
    layers = list(trained_layers(recordings, args, {**settings, "windows": len(recordings.paths), "model": recordings.meta["model"]}))
    export(args.out, layers, {"kvlab": "gates", "input": args.input, "seed": str(args.seed), **recordings.meta})
    result = summary(recordings, layers, args, settings)
    kt.write_reports(args.data, result, as_text(result))


def main():
    parser = argparse.ArgumentParser(description="gates for learned eviction")
    parser.add_argument("--data", required=True, help="folder of recordings")
    parser.add_argument("--out", required=True)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--decay", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=tuple(TYPES), default="bf16")
    parser.add_argument("--input", choices=("pre_rope", "post_rope"), default="pre_rope",
                        help="what kvlab feeds them; post_rope gives rotated keys to gates trained on unrotated ones, the origin's mismatch")
    try:
        train(parser.parse_args())
    except KeyboardInterrupt:
        raise SystemExit(130)


if __name__ == "__main__":
    main()
