#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains and measures a model's gist network (core/kinds/wlod/tree/gist_net.h); `kvlab train gists` records and then calls this.

    train.py --data DIR --out gists.safetensors --model FOLDER       report.json and report.txt are written to DIR

A recording (core/analysis/lifespans.h) has the tokens of a window and what the model's last layer left behind each of
them, from which follows what the full model says. `level 1`: the frozen model reads windows in which blocks of 32 tokens
are collapsed (all before the last ones in three of four steps, else some), and KL(full || with gists) at the tokens behind
the first gist trains the network through the model; half of the steps damp the rotation (sigma 1), half do not. `level 2`:
the same for one node of 1 024 tokens, level 1 fixed; only where windows are long enough. Muon for w1 and w2, Adam for the
rest. The last tenth of the steps is averaged. Every tenth window is held out, and the report is about these. A checkpoint
in DIR lets a second run go on. Equal seeds and data give equal tensors on one machine. The file carries the held-out
losses, beside those of truncation to as many rows; --start FILE --steps 0 --steps2 0 measures a network as it is. Needs
PyTorch, safetensors and transformers.
"""
import argparse
import json
import os
import random
import sys
import time

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import network as nw

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import kvlab_training as kt  # noqa: E402

POOLS, WIDTH = (16, 8), (192, 96)   # sizes of levels 1 and 2
LENGTHS = {128: 2, 256: 2, 512: 3, 1024: 3}  # tokens before the last ones: how often
TAIL, LEAST = 128, 64               # tokens behind them: at most, at least
SAVED = 10                          # steps between two checkpoints


# ---- optimiser ----

def orthogonal(x):
    """Newton-Schulz iteration towards the nearest orthogonal matrix."""
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return x.T if tall else x


class Optimiser:
    """Warm-up of 20 steps, linear decay over the last 60 %; the average of the last 10 % is what counts."""

    def __init__(self, net, steps, muon, adam):
        self.net, self.steps, self.rate, self.muon, self.step = net, steps, adam, muon, 0
        self.momentum = {name: torch.zeros_like(net[name]) for name in ("w1", "w2")}
        self.adam = torch.optim.Adam([w for name, w in net.items() if name not in self.momentum], lr=adam, betas=(0.9, 0.98))
        self.sums, self.summed = {name: torch.zeros_like(w) for name, w in net.items()}, 0

    def update(self, loss):
        for w in self.net.values():
            w.grad = None
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.values(), 1.0)
        self.step += 1
        scale = min(1.0, self.step / 20, max(0.02, (self.steps - self.step) / (0.6 * self.steps)))
        for group in self.adam.param_groups:
            group["lr"] = self.rate * scale
        self.adam.step()
        with torch.no_grad():
            for name, momentum in self.momentum.items():
                w = self.net[name]
                momentum.lerp_(w.grad, 0.05)
                w.sub_(orthogonal(w.grad.lerp(momentum, 0.95)), alpha=self.muon * scale * max(1.0, w.shape[0] / w.shape[1]) ** 0.5)
            if self.step > 0.9 * self.steps:
                self.summed += 1
                for name, w in self.net.items():
                    self.sums[name] += w

    def averaged(self):
        with torch.no_grad():
            for name, w in self.net.items():
                w.copy_(self.sums[name] / self.summed)

    def state(self):
        return {"net": {name: w.detach() for name, w in self.net.items()}, "adam": self.adam.state_dict(), "momentum": self.momentum,
                "sums": self.sums, "summed": self.summed, "step": self.step}

    def restore(self, state):
        with torch.no_grad():
            for name, w in self.net.items():
                w.copy_(state["net"][name])
        self.adam.load_state_dict(state["adam"])
        self.momentum, self.sums, self.summed, self.step = ({k: v.detach().clone() for k, v in state["momentum"].items()},
                                                           {k: v.detach().clone() for k, v in state["sums"].items()}, state["summed"], state["step"])


class Curve:
    """Means of the loss over twentieths of the steps, by what was trained on."""

    def __init__(self, title, steps):
        self.title, self.steps, self.every, self.rows, self.sums, self.began, self.first = title, steps, max(1, steps // 20), [], {}, time.time(), None

    def add(self, step, key, loss):
        self.first = self.first or step
        total = self.sums.setdefault(key, [0.0, 0])
        total[0] += loss
        total[1] += 1
        if step % self.every == 0:
            self.rows.append({"step": step, **{k: round(s / n, 4) for k, (s, n) in sorted(self.sums.items())}})
            self.sums = {}
            left = (time.time() - self.began) / (step - self.first + 1) * (self.steps - step)
            kt.say(f"gists: {self.title}: step {step} of {self.steps}, " + ", ".join(f"{k} {v}" for k, v in self.rows[-1].items() if k != "step") + f", {left:.0f} s left")


# ---- recordings ----

class Windows(kt.Recordings):
    """Tokens and what the last layer left behind them."""

    def __init__(self, folder, model):
        super().__init__(folder, "hidden")
        self.model = model
        self.lengths = {}
        for path in self.paths:
            with safe_open(path, "pt") as file:
                self.lengths[path] = file.get_slice("tokens").get_shape()[0]

    def read(self, path, tokens):
        """ids [tokens] and what the head takes of the full model, [tokens, hidden]"""
        with safe_open(path, "pt") as file:
            return file.get_slice("tokens")[:tokens].long(), self.model.last(file.get_slice("hidden")[:tokens].float())

    def fitting(self, paths, told):
        return [path for path in paths if self.lengths[path] >= told + LEAST]

    def batch(self, rng, told, count):
        """ids and full states of windows that are cut to equal lengths."""
        some = self.fitting(self.learnt, told)
        some = rng.sample(some, min(count, len(some)))
        length = min(min(self.lengths[path] for path in some), told + TAIL)
        ids, full = zip(*(self.read(path, length) for path in some))
        return torch.stack(ids), torch.stack(full)

    @torch.no_grad()
    def check(self):
        """The model of the folder must be the one that was recorded."""
        ids, full = self.read(self.paths[0], 128)
        got = self.model.forward(self.model.embed(ids[None]), nw.turns_of(self.model, [nw.tiling(len(ids), {})], 1.0))[0]
        apart = float((got - full).norm() / full.norm())
        kt.say(f"gists: PyTorch is {apart:.1e} from the recording")
        if not apart < 0.05:
            raise SystemExit(f"PyTorch and the recording differ by {apart:.2f} (relative L2): --model is not the model that was recorded, or transformers computes it in another way")


# ---- KL through the frozen model ----

def kl_behind_gists(model, tree, tilings, sigma, full):
    """Mean KL(full || with gists) at the tokens behind the first gist; full [b, moments, hidden] is what the head takes."""
    hidden = model.forward(nw.rows_of(tree, tilings), nw.turns_of(model, tilings, sigma))
    first = [min(start for level, start in entries if level) for entries in tilings]
    used = torch.tensor([[level == 0 and start > begin for level, start in entries] for entries, begin in zip(tilings, first)])
    moments = torch.tensor([[start for _, start in entries] for entries in tilings])
    wanted = full.gather(1, moments[..., None].expand(-1, -1, full.shape[-1]))[used] @ model.head
    wanted, got = torch.log_softmax(wanted, -1), torch.log_softmax(hidden[used] @ model.head, -1)
    return (wanted.exp() * (wanted - got)).sum(-1).mean()


def steps_of(args, title, net, steps, muon, adam, one):
    """Runs what is left of a training; `one(rng)` gives what a step trained on and its loss."""
    path, settings = os.path.join(args.data, title.replace(" ", "_") + ".pt"), args.settings
    torch.manual_seed(args.seed)
    optimiser, curve, rng = Optimiser(net, steps, muon, adam), Curve(title, steps), random.Random(f"{args.seed} {title}")
    state = kt.saved(path, settings)
    if state:
        optimiser.restore(state["optimiser"])
        curve.rows, curve.sums = state["rows"], state["sums"]
    spent, began = state.get("seconds", 0), time.time()
    for step in range(1, steps + 1):
        draw = random.Random(rng.random())  # the draw of this step, also if an earlier run made the step
        if step <= optimiser.step:
            continue
        key, loss = one(draw)
        optimiser.update(loss)
        curve.add(step, key, loss.item())
        if step % SAVED == 0 or step == steps:
            kt.save(path, settings, {"optimiser": optimiser.state(), "rows": curve.rows, "sums": curve.sums, "seconds": spent + time.time() - began})
    optimiser.averaged()
    return {"steps": steps, "seconds": round(spent + time.time() - began), "kl_curve": curve.rows}


def train_level1(net, windows, args):
    lengths = {told: often for told, often in LENGTHS.items() if windows.fitting(windows.learnt, told)}
    unit = float(windows.model.embed(torch.arange(64)).square().mean().sqrt())

    def one(rng):
        told = rng.choices(list(lengths), list(lengths.values()))[0]
        ids, full = windows.batch(rng, told, args.batch)
        blocks = told // nw.BLOCK
        whole = rng.random() < 0.75
        count = blocks if whole else max(1, round(blocks * rng.uniform(0.3, 1)))
        tilings = [nw.tiling(ids.shape[1], {b * nw.BLOCK: 1 for b in rng.sample(range(blocks), count)}) for _ in ids]
        loss = kl_behind_gists(windows.model, nw.tree_of([net], windows.model.embed(ids)), tilings, float(rng.randrange(2)), full)
        return f"{told}, all collapsed" if whole else f"{told}, some", loss
    return steps_of(args, "level 1", net, args.steps, args.muon * unit, args.adam, one)


def train_level2(net, first, windows, args):
    def one(rng):
        ids, full = windows.batch(rng, 1024, args.batch)
        embeddings = windows.model.embed(ids)
        with torch.no_grad():
            children = nw.tree_of([first], embeddings)[1]
        tree = [embeddings, children, nw.gists_of(net, children[:, :nw.BLOCK])[:, None]]
        return "1 024 as one gist", kl_behind_gists(windows.model, tree, [nw.tiling(ids.shape[1], {0: 2})] * len(ids), float(rng.randrange(2)), full)
    return steps_of(args, "level 2", net, args.steps2, args.muon, 2 * args.adam, one)


# ---- figures on held-out windows ----

WAYS = ("trained", "trained, sigma 0", "mean", "truncation", "left out")


@torch.no_grad()
def said(model, nets, ids, told, level, way):
    """Log probabilities behind the tokens from `told` on where [0, told) stands as gists of a level; or as nothing, or as the
    last tokens before `told`, as many as there are gists."""
    span = nw.span_of(level)
    entries = nw.tiling(len(ids), {start: level for start in range(0, told, span)})
    if way in ("truncation", "left out"):
        entries = [(0, start) for start in range(told - (told // span if way == "truncation" else 0), len(ids))]
    tree = nw.tree_of([None, None] if way == "mean" else nets, model.embed(ids[None]))
    hidden = model.forward(nw.rows_of(tree, [entries]), nw.turns_of(model, [entries], 0.0 if way.endswith("0") else 1.0))[0]
    return torch.log_softmax(hidden[told - len(ids):] @ model.head, -1)


@torch.no_grad()
def measure(windows, nets, told, level):
    """Per way NLL of the next tokens, KL(full || way) and the same first choice, means over held-out windows."""
    sums, tokens, some = {}, 0, windows.fitting(windows.held, told)
    for path in some:
        ids, full = windows.read(path, min(windows.lengths[path], told + TAIL))
        wanted = torch.log_softmax(full[told:] @ windows.model.head, -1)
        tokens += len(ids) - told - 1
        for way in ("full",) + WAYS:
            got = wanted if way == "full" else said(windows.model, nets, ids, told, level, way)
            nll = -got[:-1].gather(1, ids[told + 1:, None]).sum()
            kl = (wanted.exp() * (wanted - got)).sum(-1)[:-1].sum()
            same = (wanted.argmax(-1) == got.argmax(-1))[:-1].sum()
            sums[way] = sums.get(way, torch.zeros(3)) + torch.tensor([float(nll), float(kl), float(same)])
    return {"told": told, "level": level, "windows": len(some), "tokens": tokens,
            "ways": {way: dict(zip(("nll", "kl", "agree"), (round(float(v), 4) for v in total / tokens))) for way, total in sums.items()}}


def measured(windows, nets):
    rows = [measure(windows, nets, told, 1) for told in LENGTHS if windows.fitting(windows.held, told)]
    return rows + ([measure(windows, nets, 1024, 2)] if windows.fitting(windows.held, 1024) else [])


def losses(evaluation):
    """The figures of the file (core/kinds/wlod/tree/gist_net.h): means of NLL and KL over all tokens of a level."""
    out = []
    for level in (1, 2):
        rows = [row for row in evaluation if row["level"] == level]
        tokens = sum(row["tokens"] for row in rows)
        mean = lambda kind, way: round(sum(row["ways"][way][kind] * row["tokens"] for row in rows) / tokens, 4)
        names = {"full": "full", "trained": "trained", "mean": "mean", "truncation": "truncation", "left out": "nothing"}
        if rows:
            out.append({"level": level, "tokens": tokens, **{kind: {name: mean(kind, way) for way, name in names.items()} for kind in ("nll", "kl")}})
    return out


def as_text(report):
    ways = ("full",) + WAYS
    lines = [f"gists for model {report['model']}: {report['windows']['training']} windows, {report['windows']['held_out']} held out",
             "NLL of the next tokens on held-out text where what stands before them is collapsed; truncation: as many tokens as there are gists, the last",
             f"{'collapsed':>24} {'tokens':>7} " + " ".join(f"{way:>17}" for way in ways)]
    for row in report["evaluation"]:
        name = f"{row['told']} as {row['told'] // nw.span_of(row['level'])} of LOD{row['level']}"
        lines.append(f"{name:>24} {row['tokens']:>7} " + " ".join(f"{row['ways'][way]['nll']:>17.3f}" for way in ways))
        lines.append(f"{'KL to full':>24} {'':>7} " + " ".join(f"{row['ways'][way]['kl']:>17.3f}" for way in ways))
    return "\n".join(lines) + "\n"


# ---- files ----

def export(path, nets, model, measured=None):
    tensors = {f"levels.{level}.{name}": w.detach().contiguous() for level, net in enumerate(nets, 1) for name, w in net.items()}
    metadata = {"kind": "gist_net", "model": model, **({"measured": json.dumps(measured)} if measured else {})}
    kt.write_whole(path, lambda name: save_file(tensors, name, metadata=metadata))
    os.chmod(path, 0o644)


def load(path):
    nets = {}
    for name, w in load_file(path).items():
        _, level, part = name.split(".")
        nets.setdefault(int(level), {})[part] = w
    return [nets[level] for level in sorted(nets)]


def train(args):
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(args.seed)
    model = nw.Frozen(args.model)
    windows = Windows(args.data, model)
    if not windows.fitting(windows.learnt, min(LENGTHS)) or not windows.fitting(windows.held, min(LENGTHS)):
        raise SystemExit(f"{args.data}: windows need at least {min(LENGTHS) + LEAST} tokens; record with a larger --window")
    windows.check()
    nets = [{name: w.requires_grad_() for name, w in net.items()} for net in load(args.start)] if args.start else []
    levels = max(1, len(nets))
    nets += [nw.start_level(model.hidden, pools, width) for pools, width in list(zip(POOLS, WIDTH))[len(nets):]]
    done = {}
    if args.steps > 0:
        done["level_1"] = train_level1(nets[0], windows, args)
    if windows.fitting(windows.learnt, 1024) and args.steps2 > 0:
        done["level_2"], levels = train_level2(nets[1], nets[0], windows, args), 2
    nets = nets[:levels]  # a file without level 2 uses level 1 for both
    evaluation = measured(windows, nets if levels == 2 else nets * 2)
    export(args.out, nets, windows.meta["model"], losses(evaluation))
    report = {"model": windows.meta["model"], "settings": args.settings, "torch": torch.__version__, "pools": POOLS, "width": WIDTH,
              "windows": {"training": len(windows.learnt), "held_out": len(windows.held)}, **done, "evaluation": evaluation}
    kt.write_reports(args.data, report, as_text(report))


def main():
    parser = argparse.ArgumentParser(description="a model's gist network")
    parser.add_argument("--data", required=True, help="folder of recordings")
    parser.add_argument("--out", required=True)
    parser.add_argument("--model", required=True, help="folder or .gguf file of the model")
    parser.add_argument("--start", help="a network to start from")
    parser.add_argument("--steps", type=int, default=200, help="of level 1; 0 = none")
    parser.add_argument("--steps2", type=int, default=60, help="of level 2; 0 = none")
    parser.add_argument("--batch", type=int, default=2, help="windows of a step")
    parser.add_argument("--muon", type=float, default=0.04)
    parser.add_argument("--adam", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="0 = as many as PyTorch takes by itself")
    args = parser.parse_args()
    args.threads = args.threads or torch.get_num_threads()
    args.settings = {name: getattr(args, name) for name in ("start", "steps", "steps2", "batch", "muon", "adam", "seed")}
    try:
        train(args)
    except KeyboardInterrupt:
        raise SystemExit(130)


if __name__ == "__main__":
    main()
