#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains, exports and measures the demo model's gist network (core/wlod/gist_net.h) on one CPU thread.

    train.py                        demo.safetensors, report.json and reference.json beside this script; README.md says how long
    train.py --brief 0.02 --out DIR the same in little, to see that it runs
    train.py --evaluate             report.json of demo.safetensors as it is

Three steps. `state`: level 1 learns to give the state that layer 0 leaves in the rows of place words, from their blocks alone
(mean squared error; the mean over such rows). `level 1`: the frozen model reads stories with blocks of 32 collapsed, and KL(full || with gists) at the
tokens behind the first gist trains the network through it; half of the steps damp the rotation (sigma 1), half do not.
`level 2`: the same for one node of 1 024 before a tail of tokens, level 1 frozen. Muon for w1 and w2, Adam for the rest.
The last steps of each are averaged. Equal seeds give equal files on one machine. Needs PyTorch, safetensors, sentencepiece.
"""
import argparse
import json
import os
import random
import time
from collections import deque

import torch

import evaluate as ev
import network as nw
import stories as so

HERE = os.path.dirname(os.path.abspath(__file__))
POOLS, WIDTH = (16, 8), (192, 96)  # of levels 1 and 2: below 4 MB
# told moments: moments of questions behind them, stories in a batch, things, how often
LENGTHS = {128: (72, 32, (3, 6), 2), 256: (96, 24, (5, 10), 2), 512: (128, 20, (8, 16), 3), 1024: (128, 16, (8, 18), 3)}
SCALE = 0.3   # of the states that level 1 learns first; they are 17 times as large as embeddings, the model is content with less
TAIL = 192  # moments behind a node of level 2


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


class Curve:
    """Means of the loss over twentieths of the steps, by what was trained on."""

    def __init__(self, title, steps):
        self.title, self.every, self.rows, self.sums, self.began = title, max(1, steps // 20), [], {}, time.time()

    def add(self, step, key, loss):
        total = self.sums.setdefault(key, [0.0, 0])
        total[0] += loss
        total[1] += 1
        if step % self.every == 0:
            self.rows.append({"step": step, **{k: round(s / n, 4) for k, (s, n) in sorted(self.sums.items())}})
            self.sums = {}
            print(self.title, self.rows[-1], f"{time.time() - self.began:.0f} s", flush=True)


# ---- level 1: the state of layer 0 in place words ----

def start_on_classes(net, model, words):
    """Pools look for places, first and second words of objects, and people, each in a quarter of the block."""
    st, zones = so.st, POOLS[0] // 4
    rows = lambda some: nw.unit(model.embed(torch.tensor(words.encode(some))))
    every, place = rows(st.vocabulary()), torch.arange(nw.BLOCK).float()
    classes = ((st.PLACES, 1), ([o[0] for o in st.OBJECTS], -3), ([o[1] for o in st.OBJECTS], -2), (st.PEOPLE, -5))
    query, position = [], []
    for zone in range(zones):
        for some, offset in classes:
            direction = rows(some).mean(0) - every.mean(0)
            spread = (rows(some) @ direction).mean() - (every @ direction).mean()
            query.append(direction / spread * 6)
            position.append(-((place - (zone + 0.5) * nw.BLOCK / zones - offset) * zones / 20).square())
    with torch.no_grad():
        net["w1"] *= 4  # for outputs that large
        net["query"].copy_(torch.stack(query))
        net["position"].copy_(torch.stack(position))


@torch.no_grad()
def place_states(model, words, rng, stories):
    """Tokens [blocks, 32] and what level 1 shall give for them, [blocks, hidden]: the mean over place words of the state
    behind layer 0; the mean of the embeddings where there is none."""
    places = torch.tensor(words.encode(so.st.PLACES))
    tokens, wanted = [], []
    for _ in range(stories // 16):
        ids = torch.tensor([so.told_line(rng, words, 512, (4, 24)) for _ in range(16)])
        x = model.embed(ids)
        state = model.forward(x, nw.turns_of(model, [nw.tiling(512, {})] * 16, 1.0), layers=1).view(-1, nw.BLOCK, x.shape[-1])
        blocks = ids.view(-1, nw.BLOCK)
        weight = torch.isin(blocks, places).float()
        count = weight.sum(1, keepdim=True)
        mean = x.view(-1, nw.BLOCK, x.shape[-1]).mean(1)
        wanted.append(torch.where(count > 0, SCALE * torch.einsum("nc,ncd->nd", weight, state) / count.clamp(min=1), mean))
        tokens.append(blocks)
    return torch.cat(tokens), torch.cat(wanted)


def train_states(net, model, words, rng, args):
    steps = max(20, round(args.state_steps * args.brief))
    tokens, wanted = place_states(model, words, rng, max(16, round(args.stories * args.brief)))
    variance = wanted.var(0).mean()
    optimiser, curve = Optimiser(net, steps, 0.3, 6e-3), Curve("state", steps)
    for step in range(1, steps + 1):
        some = torch.randint(len(tokens), (384,))
        loss = (nw.gists_of(net, model.embed(tokens[some])) - wanted[some]).square().mean() / variance
        optimiser.update(loss)
        curve.add(step, "unexplained", loss.item())
    optimiser.averaged()
    return {"steps": steps, "blocks": len(tokens), "unexplained_curve": curve.rows}


# ---- KL through the frozen model ----

class Pool:
    """Stories of one length with what the model says about them; fresh ones push old ones out."""

    def __init__(self, model, make, size, first):
        self.model, self.make, self.rows = model, make, deque(maxlen=size)
        self.add(first)

    @torch.no_grad()
    def add(self, count):
        ids = torch.tensor([self.make() for _ in range(count)])
        turns = nw.turns_of(self.model, [nw.tiling(ids.shape[1], {})] * count, 1.0)
        self.rows.extend(zip(ids, self.model.forward(self.model.embed(ids), turns).half()))

    def draw(self, rng, count):
        some = [self.rows[i] for i in rng.sample(range(len(self.rows)), min(count, len(self.rows)))]
        return torch.stack([ids for ids, _ in some]), torch.stack([hidden for _, hidden in some]).float()


def kl_behind_gists(model, tree, tilings, sigma, full):
    """Mean KL(full || with gists) at the tokens behind the first gist; full [b, moments, hidden] of the last norm."""
    hidden = model.forward(nw.rows_of(tree, tilings), nw.turns_of(model, tilings, sigma))
    first = [min(start for level, start in entries if level) for entries in tilings]
    used = torch.tensor([[level == 0 and start > begin for level, start in entries] for entries, begin in zip(tilings, first)])
    moments = torch.tensor([[start for _, start in entries] for entries in tilings])
    wanted = full.gather(1, moments[..., None].expand(-1, -1, full.shape[-1]))[used] @ model.head
    wanted, got = torch.log_softmax(wanted, -1), torch.log_softmax(hidden[used] @ model.head, -1)
    return (wanted.exp() * (wanted - got)).sum(-1).mean()


def train_level1(net, model, words, rng, args):
    steps = max(20, round(args.steps * args.brief))
    pools = {told: Pool(model, lambda told=told: so.asked_line(rng, words, told, told + LENGTHS[told][0], LENGTHS[told][2]), 400, LENGTHS[told][1]) for told in LENGTHS}
    optimiser, curve = Optimiser(net, steps, 0.04, 1e-3), Curve("level 1", steps)
    for step in range(1, steps + 1):
        told = rng.choices(list(LENGTHS), [row[3] for row in LENGTHS.values()])[0]
        tail, batch, _, _ = LENGTHS[told]
        pools[told].add(max(2, batch // 8))
        ids, full = pools[told].draw(rng, batch)
        blocks = told // nw.BLOCK
        all_of_them = rng.random() < 0.75
        count = blocks if all_of_them else max(1, round(blocks * rng.uniform(0.3, 1)))
        tilings = [nw.tiling(told + tail, {b * nw.BLOCK: 1 for b in rng.sample(range(blocks), count)}) for _ in ids]
        loss = kl_behind_gists(model, nw.tree_of([net], model.embed(ids)), tilings, float(rng.randrange(2)), full)
        optimiser.update(loss)
        curve.add(step, f"{told}, all collapsed" if all_of_them else f"{told}, some", loss.item())
    optimiser.averaged()
    return {"steps": steps, "kl_curve": curve.rows}


def train_level2(net, first, model, words, rng, args):
    steps = max(20, round(args.steps2 * args.brief))
    pool = Pool(model, lambda: so.asked_line(rng, words, 1024, 1024 + TAIL, (8, 18)), 1000, 16)
    optimiser, curve = Optimiser(net, steps, 0.03, 2e-3), Curve("level 2", steps)
    for step in range(1, steps + 1):
        pool.add(4)
        ids, full = pool.draw(rng, 16)
        embeddings = model.embed(ids)
        with torch.no_grad():
            children = nw.tree_of([first], embeddings)[1]
        tree = [embeddings, children, nw.gists_of(net, children[:, :nw.BLOCK])[:, None]]
        loss = kl_behind_gists(model, tree, [nw.tiling(1024 + TAIL, {0: 2})] * len(ids), float(rng.randrange(2)), full)
        optimiser.update(loss)
        curve.add(step, "1 024 as one gist", loss.item())
    optimiser.averaged()
    return {"steps": steps, "kl_curve": curve.rows}


# ---- files ----

def fingerprint():
    """Of the demo model, as kvlab wrote it (core/files/fingerprint.h) into the gates' recordings."""
    from safetensors import safe_open
    with safe_open(os.path.join(HERE, "..", "gates", "demo.safetensors"), "pt") as file:
        return file.metadata()["model"]


def export(path, nets, model):
    from safetensors.torch import save_file
    tensors = {f"levels.{level}.{name}": w.detach().contiguous() for level, net in enumerate(nets, 1) for name, w in net.items()}
    save_file(tensors, path + ".new", metadata={"kind": "gist_net", "model": model})
    os.chmod(path + ".new", 0o644)
    os.replace(path + ".new", path)


def load(path):
    from safetensors.torch import load_file
    nets = {}
    for name, w in load_file(path).items():
        _, level, part = name.split(".")
        nets.setdefault(int(level), {})[part] = w
    return [nets[level] for level in sorted(nets)]


def resumed(args, name, net, work):
    """Runs one step of the training, or reads what an earlier run left of it. Each has seeds of its own."""
    path = args.work and os.path.join(args.work, name + ".pt")
    if path and os.path.exists(path):
        saved = torch.load(path)
    else:
        torch.manual_seed(args.seed)
        began, cpu = time.time(), time.process_time()
        summary = work(random.Random(f"{args.seed} {name}"))
        summary = {"wall_seconds": round(time.time() - began), "cpu_seconds": round(time.process_time() - cpu), **summary}
        saved = {"net": {part: w.detach() for part, w in net.items()}, "summary": summary}
        if path:
            torch.save(saved, path)
    with torch.no_grad():
        for part, w in saved["net"].items():
            net[part].copy_(w)
    return saved["summary"]


def train(args, model, words):
    torch.manual_seed(args.seed)
    first, second = (nw.start_level(model.config["hidden_size"], pools, width) for pools, width in zip(POOLS, WIDTH))
    start_on_classes(first, model, words)
    done = {"state": resumed(args, "state", first, lambda rng: train_states(first, model, words, rng, args)),
            "level_1": resumed(args, "level_1", first, lambda rng: train_level1(first, model, words, rng, args)),
            "level_2": resumed(args, "level_2", second, lambda rng: train_level2(second, first, model, words, rng, args))}
    export(os.path.join(args.out, "demo.safetensors"), (first, second), args.fingerprint or fingerprint())
    return {"seed": args.seed, "pools": POOLS, "width": WIDTH, "torch": torch.__version__, **done}


def main():
    parser = argparse.ArgumentParser(description="the demo model's gist network")
    parser.add_argument("--out", default=HERE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", help="folder in which finished steps are kept, to go on after an interruption")
    parser.add_argument("--stories", type=int, default=3072, help="of the first step")
    parser.add_argument("--state-steps", type=int, default=700)
    parser.add_argument("--steps", type=int, default=220)
    parser.add_argument("--steps2", type=int, default=60)
    parser.add_argument("--brief", type=float, default=1.0, help="share of the steps and stories")
    parser.add_argument("--fingerprint", help="of the model, as kvlab writes it into recordings; default: that of ../gates/demo.safetensors")
    parser.add_argument("--evaluate", action="store_true", help="measure what is there, train nothing")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for folder in filter(None, (args.out, args.work)):
        os.makedirs(folder, exist_ok=True)
    report = os.path.join(args.out, "report.json")
    model, words = nw.Llama(so.DEMO), so.Words()
    if args.evaluate:
        with open(report) as file:
            training = json.load(file)["training"]
    else:
        training = train(args, model, words)
    result = ev.everything(model, words, load(os.path.join(args.out, "demo.safetensors")), args.brief)
    with open(report, "w") as out:
        json.dump({"model": args.fingerprint or fingerprint(), "training": training, "evaluation": result}, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
