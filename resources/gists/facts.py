#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains level 2 of the demo model's gists on facts alone, and counts what it keeps of windows that training never saw.

    facts.py [--steps 1500] [--out FILE.safetensors]        about 15 minutes on one core

1 024 moments of a new story stand as one gist, and questions follow directly, as in capacity.py, which knows how much one
vector can hold. The deciding tokens of the replies train the network through the frozen model; level 1 is the given
network's and fixed, and what its 32 gists keep is the most that level 2 can. The counts are by the number of things in
the window. Needs what capacity.py needs.
"""
import argparse
import os
import random

import torch
import torch.nn.functional as F

import capacity as cp
import network as nw
import stories as so
import train

ASKED = 4  # questions of a window in a step, at most


def told(rng, words, things):
    """A window with questions about things whose place stands in it; only pairs that the model was trained with."""
    st = so.st
    story = st.tell(rng, cp.TOLD + 16, things)
    latest = {fact["thing"]: fact for fact in story.facts if fact["end"] <= cp.TOLD}
    if len(story.words) + 1 < cp.TOLD or not latest:
        return told(rng, words, things)
    some = rng.sample(sorted(latest), min(ASKED, len(latest)))
    questions = []
    for thing in some:
        fact, reply = latest[thing], st.reply_words(thing, latest[thing]["place"])
        questions.append({"text": " ".join(st.question_words(thing)), "reply": " ".join(reply), "deciding": len(reply) - 2,
                          "needle": [fact["begin"], fact["end"]]})
    return cp.Window(words, {"text": " ".join(story.words), "questions": questions})


def logits_of(model, nets, windows, questions):
    embeddings = model.embed(torch.tensor([w.ids for w in windows]))
    with torch.no_grad():
        children = nw.tree_of(nets[:1], embeddings)[1]
    return questions.behind(nw.gists_of(nets[1], children)[:, None], cp.WHOLE)


def asked_all(model, windows):
    return cp.Questions(model, windows, [range(len(w.asked)) for w in windows])


@torch.no_grad()
def kept(model, nets, windows):
    questions = asked_all(model, windows)
    return questions.answered(logits_of(model, nets, windows, questions))


@torch.no_grad()
def kept_by_level1(model, nets, windows):
    questions = asked_all(model, windows)
    return questions.answered(questions.behind(nw.tree_of(nets[:1], model.embed(torch.tensor([w.ids for w in windows])))[1], cp.BLOCKS))


def main():
    parser = argparse.ArgumentParser(description="level 2 trained on facts")
    parser.add_argument("--net", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo.safetensors"))
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=12, help="windows of a step")
    parser.add_argument("--pools", type=int, default=16)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--start", help="a file whose level 2 the training goes on from")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model, words = nw.Frozen(so.DEMO), so.Words()
    first = train.load(args.net)[0]
    net = nw.start_level(model.hidden, args.pools, args.width)
    if args.start:
        net = {name: w.requires_grad_() for name, w in train.load(args.start)[1].items()}
    fresh = random.Random(f"{args.seed} held out")
    held = {things: [told(fresh, words, things) for _ in range(24)] for things in (1, 2, 4, 8)}
    held["recall"] = [cp.Window(words, story) for story in so.long_recall_stories(16, 1280)]
    print("32 gists of LOD1 keep", {things: kept_by_level1(model, [first], some) for things, some in held.items()}, flush=True)
    optimiser, curve, rng = train.Optimiser(net, args.steps, 0.04, 2e-3), train.Curve("facts", args.steps), random.Random(args.seed)
    for step in range(1, args.steps + 1):
        windows = [told(rng, words, rng.choice((1, 1, 2, 3, 4, 6, 8, 12))) for _ in range(args.batch)]
        questions = asked_all(model, windows)
        loss = F.cross_entropy(logits_of(model, [first, net], windows, questions), questions.wanted)
        optimiser.update(loss)
        curve.add(step, "loss", loss.item())
        if step % 100 == 0:
            print(step, {things: kept(model, [first, net], some) for things, some in held.items()}, flush=True)
    optimiser.averaged()
    print("level 2 trained on facts keeps", {things: kept(model, [first, net], some) for things, some in held.items()}, flush=True)
    if args.out:
        train.export(args.out, [first, net], "")


if __name__ == "__main__":
    main()
