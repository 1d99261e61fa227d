#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The number of facts that the demo model can read from one row: an upper bound for every gist network.

    capacity.py [--windows 16] [--out FILE.json]        about 15 minutes on one core

No network is asked. Gradient descent looks for the vector itself, for each window apart: 1 024 moments of a story that
training never saw stand as that one vector, and the frozen model is asked about k things of the window with k different
places. A question follows the window directly. `answered` is the share of the k questions whose deciding token is the
first choice once the descent has ended. If gradient descent finds no vector for the facts, a trained
network finds none either. The ways:

    LOD2 vector      one row, blurred and placed as LOD2 is
    LOD1 vector      one row as the last LOD1 of the window
    keys and values  one row whose keys and values are free in every layer: what no embedding can surpass
    32 LOD1 vectors  a row for each block

Beside them stand the window as tokens, the gists of the network, the mean, and nothing in the window's place. `names`
says how often a vector that holds one fact gives that fact's place to another question of the same window, too.
Needs PyTorch, safetensors, transformers, sentencepiece.
"""
import argparse
import json
import os
import random

import torch
import torch.nn.functional as F
from transformers import DynamicCache

import network as nw
import stories as so
import train

TOLD = 1024
COUNTS = (1, 2, 4, 8)
LAST = ((1, TOLD - nw.BLOCK),)          # entries of a way
WHOLE = ((2, 0),)
BLOCKS = tuple((1, start) for start in range(0, TOLD, nw.BLOCK))


class Window:
    """1 024 moments and questions about them: tokens up to the deciding one, and that token."""

    def __init__(self, words, story):
        self.ids = ([1] + words.encode(story["text"].split()))[:TOLD]
        self.asked, self.places = [], []
        for q in story["questions"]:
            reply = q["reply"].split()
            place = words.token[reply[q["deciding"]]]
            if q["needle"][1] <= TOLD and place not in self.places:
                self.asked.append(words.encode(q["text"].split() + reply[:q["deciding"]]))
                self.places.append(place)

    def drawn(self, count, seed):
        """Numbers of `count` of the questions, as many as there are."""
        return random.Random(seed).sample(range(len(self.asked)), min(count, len(self.asked)))


class Questions:
    """Questions of several windows as one batch behind the rows of a way."""

    def __init__(self, model, windows, chosen):
        pairs = [(w, q) for w, some in enumerate(chosen) for q in some]
        asked = [windows[w].asked[q] for w, q in pairs]
        self.model, self.window = model, torch.tensor([w for w, _ in pairs])
        self.wanted = torch.tensor([windows[w].places[q] for w, q in pairs])
        self.last = torch.tensor([len(ids) - 1 for ids in asked])
        longest = max(map(len, asked))
        self.x = model.embed(torch.tensor([ids + [0] * (longest - len(ids)) for ids in asked]))
        self.phases = torch.arange(TOLD, TOLD + longest)[None].expand(len(asked), -1)

    def turns(self, entries):
        own = self.model.turns(self.phases, torch.zeros_like(self.phases))
        rows = nw.turns_of(self.model, [list(entries)] * len(self.x), 1.0)
        return [torch.cat(pair, 1) for pair in zip(rows, own)] if entries else own

    def picked(self, hidden):
        return hidden.gather(1, (hidden.shape[1] - self.x.shape[1] + self.last)[:, None, None].expand(-1, 1, hidden.shape[-1]))[:, 0] @ self.model.head

    def behind(self, vectors, entries):
        """Logits of the deciding tokens; vectors [windows, rows, hidden]."""
        return self.picked(self.model.forward(torch.cat([vectors[self.window], self.x], 1), self.turns(entries)))

    def behind_rows(self, rows):
        """The same behind one row of free keys and values, [windows, layers, 2, kv heads, head dim]."""
        cache = DynamicCache()
        for layer in range(rows.shape[1]):
            cache.update(*rows[self.window, layer].unsqueeze(3).unbind(1), layer)
        cos, sin, _ = self.turns(())
        long, x = self.x.shape[1], self.x
        mask = torch.ones(long, long + 1, dtype=torch.bool).tril(1)[None, None]
        for layer in self.model.decoder.layers:
            x = layer(x, attention_mask=mask, position_embeddings=(torch.cat([cos] * 2, -1), torch.cat([sin] * 2, -1)), past_key_values=cache)
        return self.picked(self.model.last(x))

    def answered(self, logits):
        return round(float((logits.argmax(-1) == self.wanted).float().mean()), 4)


def sought(start, questions, logits_of, steps, rate):
    """The best values that the descent found, each window's apart: (share answered, values)."""
    values = start.clone().requires_grad_()
    optimiser = torch.optim.Adam([values], lr=rate)
    best = None
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, 1.2 * (1 - step / steps))
        logits = logits_of(values)
        loss = F.cross_entropy(logits, questions.wanted, reduction="sum")
        if best is None or loss.item() < best[0]:
            best = (loss.item(), questions.answered(logits), values.detach().clone())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return best[1], best[2]


def start_of(model, windows, rows):
    """Small random vectors of the size of embeddings."""
    unit = float(model.embed(torch.arange(64)).square().mean().sqrt())
    return torch.randn(len(windows), rows, model.hidden) * unit


def others_named(model, windows, chosen, vectors):
    """Share of other questions of a window that get the place of the one fact that its vector holds."""
    rest = [[q for q in range(len(w.asked)) if q not in some] for w, some in zip(windows, chosen)]
    questions = Questions(model, windows, rest)
    held = torch.tensor([windows[w].places[chosen[w][0]] for w in questions.window])
    return round(float((questions.behind(vectors, WHOLE).argmax(-1) == held).float().mean()), 4)


def known(model, nets, windows, questions):
    """The share of questions that are answered from the window as tokens, gists, the mean, and nothing."""
    embeddings = model.embed(torch.tensor([w.ids for w in windows]))
    tokens = tuple((0, start) for start in range(TOLD))
    out = {"tokens": 0, "nothing": questions.answered(questions.behind(embeddings[:, :0], ()))}
    right = 0
    for w in range(len(windows)):  # one window at a time: long rows
        one = Questions(model, windows[w:w + 1], [range(len(windows[w].asked))])
        right += one.answered(one.behind(embeddings[w:w + 1], tokens)) * len(one.wanted)
    out["tokens"] = round(right / len(questions.wanted), 4)
    for name, some in (("trained", nets), ("mean", [None, None])):
        tree = nw.tree_of(some, embeddings)
        out[f"{name} LOD2"] = questions.answered(questions.behind(tree[2], WHOLE))
        out[f"{name} 32 LOD1"] = questions.answered(questions.behind(tree[1], BLOCKS))
    return out


def measure(model, nets, windows, args):
    everything = [range(len(w.asked)) for w in windows]
    with torch.no_grad():
        report = {"windows": len(windows), "questions": sum(map(len, everything)), "known": known(model, nets, windows, Questions(model, windows, everything))}
    print(report, flush=True)
    config = model.whole.config
    for count in COUNTS:
        chosen = [w.drawn(count, f"{i} {count}") for i, w in enumerate(windows)]
        questions = Questions(model, windows, chosen)
        row = {"asked": len(questions.wanted)}
        for name, entries in (("LOD2 vector", WHOLE), ("LOD1 vector", LAST), ("32 LOD1 vectors", BLOCKS)):
            if len(entries) > 1 and count < COUNTS[-1]:
                continue
            start = start_of(model, windows, len(entries))
            row[name], found = sought(start, questions, lambda v: questions.behind(v, entries), args.steps, args.rate)
            if count == 1 and entries == WHOLE:
                with torch.no_grad():
                    row["names"] = others_named(model, windows, chosen, found)
        rows = torch.randn(len(windows), config.num_hidden_layers, 2, config.num_key_value_heads, config.head_dim)
        row["keys and values"], _ = sought(rows, questions, questions.behind_rows, args.steps, 0.1)
        report[str(count)] = row
        print(count, row, flush=True)
    return report


def main():
    parser = argparse.ArgumentParser(description="facts that one row can hold")
    parser.add_argument("--net", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo.safetensors"))
    parser.add_argument("--windows", type=int, default=16)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--out")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    words = so.Words()
    windows = [Window(words, story) for story in so.long_recall_stories(args.windows, 1280)]
    report = measure(nw.Frozen(so.DEMO), train.load(args.net), windows, args)
    if args.out:
        with open(args.out, "w") as out:
            json.dump(report, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    main()
