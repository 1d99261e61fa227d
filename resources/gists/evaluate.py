# SPDX-License-Identifier: Apache-2.0
"""The cost of gists of the demo model on stories that training never saw: KL(full || with gists), agreement, recall.

    evaluate.py [--net demo.safetensors] --out FILE.json

A story's blocks that end 32 moments or more before its end may stand as gists. Measured are always the same tokens: the
story's last 32 to 63 moments ("text") and, each behind the whole story, its questions with their replies ("questions").
Recall: the deciding token of the reply, everything before it given, is the first choice. A fact lies in tokens where all of
its moments do, in LOD1 or LOD2 where all of them stand in gists of that level; facts on a border are counted apart.
"""
import argparse
import json
import os
import random

import torch

import network as nw
import stories as so
import train

TAIL = 32
SHARES = (25, 50, 100)


class Asked:
    """A story with its questions behind it, and what the model says where nothing is collapsed."""

    def __init__(self, model, words, story):
        self.model, self.story = model, story
        self.ids = [1] + words.encode(story["text"].split())
        self.tails = [words.encode((q["text"] + " " + q["reply"]).split()) for q in story["questions"]]
        self.length = len(self.ids)
        self.blocks = (self.length - TAIL) // nw.BLOCK
        self.embeddings = model.embed(torch.tensor([self.ids]))
        self.behind = model.embed(torch.tensor([[t for tail in self.tails for t in tail]]))
        self.full = self.logs([self.embeddings], nw.tiling(self.length, {}), 1.0)

    def mask(self, before):
        total = before + sum(len(tail) for tail in self.tails)
        mask = torch.ones(total, total, dtype=torch.bool).tril()
        begin = before
        for tail in self.tails:
            mask[begin:begin + len(tail), before:begin] = False
            begin += len(tail)
        return mask[None, None]

    @torch.no_grad()
    def logs(self, tree, entries, sigma):
        """Log probabilities behind the last moments and behind all tokens of the questions, [measured, vocab]."""
        x = torch.cat([nw.rows_of(tree, [entries]), self.behind], 1)
        own = nw.turns_of(self.model, [entries], sigma)
        phases = torch.tensor([[self.length + i for tail in self.tails for i in range(len(tail))]])
        asked = self.model.turns(phases, torch.zeros_like(phases))
        hidden = self.model.forward(x, [torch.cat(pair, 1) for pair in zip(own, asked)], self.mask(len(entries)))
        first = len(entries) - (self.length - self.blocks * nw.BLOCK)
        return torch.log_softmax(hidden[0, first:] @ self.model.head, -1)


def collapsed_at(asked, share, seed):
    """{start: 1} of a share of the blocks, drawn from seed."""
    count = max(1, round(asked.blocks * share / 100))
    return {b * nw.BLOCK: 1 for b in random.Random(seed).sample(range(asked.blocks), count)}


def place_of(question, collapsed):
    begin, end = question["needle"]
    levels = {1 if start % 1024 or level == 1 else level for start, level in collapsed.items() if start < end and begin < start + nw.span_of(level)}
    inside = sum(max(0, min(end, start + nw.span_of(level)) - max(begin, start)) for start, level in collapsed.items())
    if not levels:
        return "tokens"
    return f"LOD{levels.pop()}" if len(levels) == 1 and inside == end - begin else "border"


class Tally:
    """Sums over stories."""

    def __init__(self):
        self.kl, self.agree, self.count = {"text": 0.0, "questions": 0.0}, {"text": 0, "questions": 0}, {"text": 0, "questions": 0}
        self.recall, self.moments, self.gists = {}, 0, 0

    def add(self, asked, logs, collapsed):
        full = asked.full
        kl = (full.exp() * (full - logs)).sum(-1)
        same = full.argmax(-1) == logs.argmax(-1)
        story = len(logs) - asked.behind.shape[1]
        used = torch.ones(len(logs), dtype=torch.bool)
        ends = torch.tensor([len(tail) for tail in asked.tails]).cumsum(0) + story - 1
        used[ends] = False  # nothing follows a reply
        for name, part in (("text", slice(0, story)), ("questions", slice(story, None))):
            self.kl[name] += float(kl[part][used[part]].double().sum())
            self.agree[name] += int(same[part][used[part]].sum())
            self.count[name] += int(used[part].sum())
        best, begin = logs.argmax(-1), story
        for question, tail in zip(asked.story["questions"], asked.tails):
            at = len(question["text"].split()) + question["deciding"]
            row = self.recall.setdefault(place_of(question, collapsed), [0, 0])
            row[0] += int(best[begin + at - 1] == tail[at])
            row[1] += 1
            begin += len(tail)
        self.moments += asked.length
        self.gists += sum(nw.span_of(level) for level in collapsed.values())

    def plain(self):
        count = sum(self.count.values())
        return {"kl": round(sum(self.kl.values()) / count, 4), "kl_text": round(self.kl["text"] / self.count["text"], 4),
                "kl_questions": round(self.kl["questions"] / self.count["questions"], 4),
                "agree": round(sum(self.agree.values()) / count, 4), "agree_text": round(self.agree["text"] / self.count["text"], 4),
                "agree_questions": round(self.agree["questions"] / self.count["questions"], 4), "tokens": count,
                "recall": {place: self.recall[place] for place in ("tokens", "LOD1", "LOD2", "border") if place in self.recall},
                "collapsed": round(self.gists / self.moments, 4)}


def measure(stories, collapse, variants):
    """collapse(asked, number) -> {start: level}; variants: name -> (nets or "dropped", sigma). -> name -> figures."""
    tallies = {name: Tally() for name in variants}
    for number, asked in enumerate(stories):
        collapsed = collapse(asked, number)
        trees = {}
        for name, (nets, sigma) in variants.items():
            entries = nw.tiling(asked.length, collapsed)
            if nets == "dropped":
                entries, nets = [entry for entry in entries if not entry[0]], [None, None]
            with torch.no_grad():
                tree = trees.setdefault(id(nets), nw.tree_of(nets, asked.embeddings))
            tallies[name].add(asked, asked.logs(tree, entries, sigma), collapsed)
    return {name: tally.plain() for name, tally in tallies.items()}


def full_recall(stories):
    """Right and asked where nothing is collapsed."""
    tally = Tally()
    for asked in stories:
        tally.add(asked, asked.full, {})
    return tally.recall["tokens"]


# ---- the report ----

def variants_of(nets):
    mean = [None, None]
    return {"mean, sigma 1": (mean, 1.0), "mean, sigma 0": (mean, 0.0), "trained, sigma 1": (nets, 1.0), "trained, sigma 0": (nets, 0.0),
            "left out": ("dropped", 0.0)}


def some_of(stories, brief):
    return stories[:max(2, round(len(stories) * brief))]


def recall_sets(model, words, nets, brief=1.0):
    """By length and share of the blocks that stand as LOD1."""
    out = {}
    for tokens in (256, 512, 1024):
        stories = [Asked(model, words, story) for story in some_of(so.recall_stories(f"recall-{tokens}"), brief)]
        shares = {str(share): measure(stories, lambda asked, number: collapsed_at(asked, share, 1000 * share + number), variants_of(nets)) for share in SHARES}
        out[f"recall-{tokens}"] = {"stories": len(stories), "full_recall": full_recall(stories), "shares": shares}
        print(tokens, {share: {name: row["kl"] for name, row in rows.items()} for share, rows in shares.items()}, flush=True)
    return out


def beyond(model, words, nets, brief=1.0):
    """More than 1 024 moments: one gist of LOD2, and LOD1 for the same moments."""
    stories = [Asked(model, words, story) for story in some_of(so.long_recall_stories(30, 1280), brief)]
    first = {b * nw.BLOCK: 1 for b in range(nw.BLOCK)}
    near = lambda asked: {b * nw.BLOCK: 1 for b in range(nw.BLOCK, asked.blocks)}
    ways = {"LOD2, then tokens": lambda asked: {0: 2}, "32 LOD1, then tokens": lambda asked: first,
            "LOD2, then LOD1, tokens in the tail": lambda asked: {0: 2, **near(asked)}, "LOD1, tokens in the tail": lambda asked: {**first, **near(asked)}}
    tilings = {name: measure(stories, lambda asked, number: way(asked), variants_of(nets)) for name, way in ways.items()}
    print("beyond 1 024", {name: {v: row["kl"] for v, row in rows.items()} for name, rows in tilings.items()}, flush=True)
    return {"beyond-1024": {"stories": len(stories), "tokens": [min(s.length for s in stories), max(s.length for s in stories)],
                            "full_recall": full_recall(stories), "tilings": tilings}}


def everything(model, words, nets, brief=1.0):
    return {**recall_sets(model, words, nets, brief), **beyond(model, words, nets, brief)}


def main():
    parser = argparse.ArgumentParser(description="gists of the demo model, measured")
    parser.add_argument("--net", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo.safetensors"))
    parser.add_argument("--out", required=True)
    parser.add_argument("--brief", type=float, default=1.0, help="share of the stories")
    args = parser.parse_args()
    torch.set_num_threads(1)
    result = everything(nw.Frozen(so.DEMO), so.Words(), train.load(args.net), args.brief)
    with open(args.out, "w") as out:
        json.dump(result, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
