#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains and measures a model's lens network (core/kinds/wlod/tree/lens_net.h); `kvlab train lens` records and then calls this.

    train.py --data DIR --out lens.safetensors --model FOLDER        report.json and report.txt are written to DIR

A window is cut at several places. The full model says how much attention the tokens behind a cut pay to each token before
it. Then the moments before the cut are tiled anew in every step, some as gists, and the network learns, from the entries
and the last tokens alone, which share of that attention each entry would get. Gists come from --gists, or they are means,
in every other step, so that one network serves both. Every tenth window is held out, and the report is about these: how
the network's scores, and those of the lens `attention`, go with the scores of an oracle that knows the tokens to come.
A checkpoint in DIR lets a second run go on. Equal seeds and data give equal tensors on one machine. Needs PyTorch,
safetensors and transformers.
"""
import argparse
import json
import os
import random
import sys
import time

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "python"), os.path.join(HERE, "..", "gists")]
import kvlab_training as kt  # noqa: E402
import network as nw  # noqa: E402

WIDTH, HEAD, LAYERS, INNER, TAIL = 64, 16, 2, 128, 32
FOLLOWING = 16      # tokens behind a cut whose attention counts
CUTS = 10           # cuts of a window
SAVED = 50          # steps between two checkpoints
CHOSEN = 4          # gists that a round expands
RECENT = 8          # tokens before a cut whose attention the lens `attention` uses


# ---- the network ----

def start(hidden):
    draw = lambda rows, columns: torch.randn(rows, columns) / columns ** 0.5
    net = {"entry": draw(WIDTH, hidden), "tail": draw(WIDTH, hidden), "features": draw(WIDTH, 4) * 0.5,
           "position": torch.randn(TAIL, WIDTH) * 0.3, "out": torch.zeros(WIDTH)}
    for n in range(LAYERS):
        net.update({f"layers.{n}.{part}": draw(WIDTH, WIDTH) for part in "qkvo"})
        net.update({f"layers.{n}.w1": draw(INNER, WIDTH), f"layers.{n}.b1": torch.zeros(INNER),
                    f"layers.{n}.w2": draw(WIDTH, INNER) * 0.1, f"layers.{n}.b2": torch.zeros(WIDTH)})
    return {name: w.requires_grad_() for name, w in net.items()}


def features(nodes, length):
    """[entries, 4]: 1, is LOD1, is LOD2, an eighth of ln(1 + moments from the entry's end to the end of the time line)."""
    level = torch.tensor([one for one, _ in nodes])
    distance = torch.tensor([length - at - nw.span_of(one) for one, at in nodes])
    return torch.stack([torch.ones(len(nodes)), (level == 1).float(), (level == 2).float(), torch.log1p(distance.float()) / 8], -1)


def logits_of(net, entries, nodes, tail, length):
    """entries [n, hidden], tail [t, hidden], the newest last -> [n]; the softmax is the share of attention."""
    h = nw.unit(entries) @ net["entry"].T + features(nodes, length) @ net["features"].T
    t = nw.unit(tail) @ net["tail"].T + net["position"][:len(tail)].flip(0)
    split = lambda x: x.view(len(x), -1, HEAD).transpose(0, 1)
    for n in range(LAYERS):
        part = lambda name: net[f"layers.{n}.{name}"]
        q, k, v = split(nw.unit(h) @ part("q").T), split(t @ part("k").T), split(t @ part("v").T)
        mixed = torch.softmax(q @ k.transpose(1, 2) / HEAD ** 0.5, -1) @ v
        h = h + mixed.transpose(0, 1).reshape(len(h), -1) @ part("o").T
        h = h + F.silu(nw.unit(h) @ part("w1").T + part("b1")) @ part("w2").T + part("b2")
    return nw.unit(h) @ net["out"]


# ---- what the full model looks at ----

class Watched(nw.Frozen):
    """A frozen model that tells its attention."""

    def __init__(self, folder):
        super().__init__(folder)
        self.whole.set_attn_implementation("eager")

    @torch.no_grad()
    def attention(self, x, turns, queries):
        """Attention of the rows `queries` of one line, mean over layers and heads: [queries, rows]; x [1, n, hidden]."""
        n = x.shape[1]
        place = torch.tensor(queries)
        seen = torch.ones(n, n, dtype=torch.bool).tril()[None, None]
        far = turns[2][:, None, :, None] - turns[2][:, None, None, :]
        cos, sin, total = torch.cat([turns[0]] * 2, -1), torch.cat([turns[1]] * 2, -1), 0
        for layer, window in zip(self.decoder.layers, self.windows):
            told = []
            hook = layer.self_attn.register_forward_hook(lambda module, given, out: told.append(out[1][0][:, place].mean(0)))
            mask = seen & (far < window) if window else seen
            x = layer(x, attention_mask=torch.zeros(mask.shape).masked_fill(~mask, -1e30), position_embeddings=(cos, sin))
            hook.remove()
            total = total + told[0]
        return total / len(self.decoder.layers)


class Cut:
    """A window up to a cut, and the attention that the tokens behind the cut pay to each moment before it."""

    def __init__(self, ids, at, attention):
        self.ids, self.at, self.mass = ids[:at], at, attention


def cuts_of(model, path, rng):
    with kt.safe_open(path, "pt") as file:
        ids = file.get_slice("tokens")[:].long()
    places = sorted(rng.sample(range(128, len(ids) - FOLLOWING), min(CUTS, max(0, len(ids) - FOLLOWING - 128))))
    if not places:
        return []
    rows = [row for at in places for row in range(at, at + FOLLOWING)]
    told = model.attention(model.embed(ids[None]), nw.turns_of(model, [nw.tiling(len(ids), {})], 1.0), rows)
    return [Cut(ids, at, told[i * FOLLOWING:(i + 1) * FOLLOWING, :at].mean(0)) for i, at in enumerate(places)]


def tiled(cut, rng, share):
    """Entries before a cut: the last 32 to 128 moments as tokens, before them blocks as LOD1 with a probability of `share`,
    and now and then the first 1 024 moments as LOD2."""
    told = max(0, cut.at - rng.choice((32, 64, 96, 128)))
    collapsed = {block * nw.BLOCK: 1 for block in range(told // nw.BLOCK) if rng.random() < share}
    if told >= 1024 and rng.random() < 0.3:
        collapsed = {0: 2, **{at: 1 for at in collapsed if at >= 1024}}
    return nw.tiling(cut.at, collapsed)


def wanted(cut, nodes):
    """The attention that each entry's moments get, as shares."""
    sums = torch.cat([torch.zeros(1), cut.mass.cumsum(0)])
    begin = torch.tensor([at for _, at in nodes])
    end = torch.tensor([at + nw.span_of(level) for level, at in nodes])
    mass = (sums[end] - sums[begin]).clamp(min=1e-9)
    return mass / mass.sum()


def scores(mass):
    r = mass / mass.mean()
    return (r - 1) / (r + 1)


class Look:
    """The part of a tiling that the lens sees."""

    def __init__(self, model, cut, nodes, nets):
        embeddings = model.embed(cut.ids[None])
        with torch.no_grad():
            self.tree = nw.tree_of(nets, embeddings)
        self.rows = nw.rows_of(self.tree, [nodes])
        self.entries, self.nodes, self.tail, self.length = self.rows[0], nodes, embeddings[0, -TAIL:], cut.at

    def logits(self, net):
        return logits_of(net, self.entries, self.nodes, self.tail, self.length)


def loss_of(net, look, cut):
    """KL(oracle || network) over all entries, and over the gists alone."""
    mass, got = wanted(cut, look.nodes), look.logits(net)
    gists = torch.tensor([level > 0 for level, _ in look.nodes])
    loss = F.kl_div(torch.log_softmax(got, 0), mass, reduction="sum")
    if gists.sum() > 1:
        loss = loss + F.kl_div(torch.log_softmax(got[gists], 0), mass[gists] / mass[gists].sum(), reduction="sum")
    return loss


# ---- training ----

def train_net(net, model, cuts, nets, args):
    path, settings = os.path.join(args.data, "lens.pt"), args.settings
    optimiser = torch.optim.Adam(net.values(), lr=args.rate, betas=(0.9, 0.98))
    rng, first, rows, sums, spent = random.Random(f"{args.seed} lens"), 1, [], [0.0, 0], 0.0
    state = kt.saved(path, settings)
    if state:
        optimiser.load_state_dict(state["adam"])
        with torch.no_grad():
            for name, w in net.items():
                w.copy_(state["net"][name])
        first, rows, sums, spent = state["step"] + 1, state["rows"], state["sums"], state["seconds"]
    began = time.time()
    for step in range(1, args.steps + 1):
        draw = random.Random(rng.random())
        if step < first:
            continue
        for group in optimiser.param_groups:
            group["lr"] = args.rate * min(1.0, step / 50, max(0.02, (args.steps - step) / (0.6 * args.steps)))
        optimiser.zero_grad()
        loss = 0
        for _ in range(args.batch):
            cut = draw.choice(cuts)
            nodes = tiled(cut, draw, draw.choice((0.3, 0.7, 1.0)))
            loss = loss + loss_of(net, Look(model, cut, nodes, nets[draw.randrange(len(nets))]), cut) / args.batch
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.values(), 1.0)
        optimiser.step()
        sums = [sums[0] + loss.item(), sums[1] + 1]
        if step % SAVED == 0 or step == args.steps:
            rows.append({"step": step, "kl": round(sums[0] / sums[1], 4)})
            sums = [0.0, 0]
            kt.say(f"lens: step {step} of {args.steps}, KL {rows[-1]['kl']:.3f}")
            kt.save(path, settings, {"net": {name: w.detach() for name, w in net.items()}, "adam": optimiser.state_dict(), "step": step,
                                     "rows": rows, "sums": sums, "seconds": spent + time.time() - began})
    return {"steps": args.steps, "seconds": round(spent + time.time() - began), "kl_curve": rows}


# ---- figures on held-out windows ----

def ranks(x):
    out = torch.empty(len(x))
    out[x.argsort()] = torch.arange(len(x)).float()
    return out


def correlation(a, b):
    a, b = ranks(a), ranks(b)
    a, b = a - a.mean(), b - b.mean()
    return float((a * b).sum() / (a.norm() * b.norm()).clamp(min=1e-9))


@torch.no_grad()
def attention_lens(model, look):
    """The scores of the lens `attention`: attention of the last tokens before the cut, over the same entries."""
    rows = list(range(len(look.nodes) - RECENT, len(look.nodes)))
    return model.attention(look.rows, nw.turns_of(model, [look.nodes], 1.0), rows).mean(0)


@torch.no_grad()
def measure(net, model, cuts, nets, names):
    """By kind of gists and lens: rank correlation with the oracle's scores, and which share of the attention that all gists
    would get goes to the four of the highest score. Every block before the last tokens stands as LOD1."""
    rows, used = {}, 0
    for number, cut in enumerate(cuts):
        nodes = tiled(cut, random.Random(number), 1.0)
        gists = torch.tensor([level == 1 for level, _ in nodes])
        if gists.sum() < 2 * CHOSEN:
            continue
        used += 1
        mass = wanted(cut, nodes)[gists]
        for kind, some in zip(names, nets):
            look = Look(model, cut, nodes, some)
            lenses = {"network": look.logits(net)[gists], "attention": attention_lens(model, look)[gists],
                      "chance": torch.rand(int(gists.sum()), generator=torch.Generator().manual_seed(number)), "oracle": mass}
            for lens, says in lenses.items():
                row = rows.setdefault(f"{kind}, {lens}", [0.0, 0.0])
                row[0] += correlation(says, mass)
                row[1] += float(mass[says.topk(CHOSEN).indices].sum() / mass.sum())
    return {"cuts": used, "lenses": {name: {"correlation": round(a / used, 4), "caught": round(b / used, 4)} for name, (a, b) in rows.items()}}


def as_text(report):
    lines = [f"lens for model {report['model']}: {report['windows']['training']} windows, {report['windows']['held_out']} held out, {report['evaluation']['cuts']} cuts",
             f"rank correlation with the oracle over the gists before a cut; share of their attention that the best {CHOSEN} get"]
    for name, row in report["evaluation"]["lenses"].items():
        lines.append(f"{'gists ' + name:>32} {row['correlation']:>8.3f} {row['caught']:>8.3f}")
    return "\n".join(lines) + "\n"


def gists_of(args):
    """[trained, mean], or the mean alone."""
    if not args.gists:
        return [[None, None]], ["mean"]
    from safetensors.torch import load_file
    levels = {}
    for name, w in load_file(args.gists).items():
        _, level, part = name.split(".")
        levels.setdefault(int(level), {})[part] = w
    nets = [levels[level] for level in sorted(levels)]
    return [nets if len(nets) == 2 else nets * 2, [None, None]], ["trained", "mean"]


def export(path, net, model, lenses):
    metadata = {"kind": "lens_net", "model": model, "measured": json.dumps(lenses)}
    kt.write_whole(path, lambda name: save_file({name: w.detach().contiguous() for name, w in net.items()}, name, metadata=metadata))
    os.chmod(path, 0o644)


def train(args):
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    model = Watched(args.model)
    windows = kt.Recordings(args.data, "hidden")
    nets, names = gists_of(args)
    rng = random.Random(f"{args.seed} cuts")
    kt.say("lens: the full model looks at the windows")
    cuts, held = ([cut for path in paths for cut in cuts_of(model, path, rng)] for paths in (windows.learnt, windows.held))
    if not cuts or not held:
        raise SystemExit(f"{args.data}: windows need at least {128 + FOLLOWING + 1} tokens; record with a larger --window")
    net = start(model.hidden)
    done = train_net(net, model, cuts, nets, args)
    evaluation = measure(net, model, held, nets, names)
    export(args.out, net, windows.meta["model"], evaluation["lenses"])
    report = {"model": windows.meta["model"], "settings": args.settings, "torch": torch.__version__,
              "windows": {"training": len(windows.learnt), "held_out": len(windows.held)}, "training": done, "evaluation": evaluation}
    kt.write_reports(args.data, report, as_text(report))


def main():
    parser = argparse.ArgumentParser(description="a model's lens network")
    parser.add_argument("--data", required=True, help="folder of recordings")
    parser.add_argument("--out", required=True)
    parser.add_argument("--model", required=True, help="folder or .gguf file of the model")
    parser.add_argument("--gists", help="a gist network whose gists the lens sees, besides means")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=8, help="tilings of a step")
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="0 = as many as PyTorch takes by itself")
    args = parser.parse_args()
    args.threads = args.threads or torch.get_num_threads()
    args.settings = {name: getattr(args, name) for name in ("gists", "steps", "batch", "rate", "seed")}
    try:
        train(args)
    except KeyboardInterrupt:
        raise SystemExit(130)


if __name__ == "__main__":
    main()
