#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A start for the demo model's gist network, which `kvlab train gists -- --start FILE` goes on from.

    demo_start.py --out start.safetensors

From a block alone, level 1 learns to give the state that layer 0 leaves in the rows of place words (mean squared error; the
mean over such rows). Needs PyTorch, safetensors, transformers, sentencepiece.
"""
import argparse
import random

import torch

import network as nw
import stories as so
import train

SCALE = 0.3   # scale of the states: they are 17 times as large as embeddings; less suffices for the model


def start_on_classes(net, model, words):
    """Pools look for places, first and second words of objects, and people, each in a quarter of the block."""
    st, zones = so.st, train.POOLS[0] // 4
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
    tokens, wanted = place_states(model, words, rng, args.stories)
    variance = wanted.var(0).mean()
    optimiser, curve = train.Optimiser(net, args.steps, 0.3, 6e-3), train.Curve("state", args.steps)
    for step in range(1, args.steps + 1):
        some = torch.randint(len(tokens), (384,))
        loss = (nw.gists_of(net, model.embed(tokens[some])) - wanted[some]).square().mean() / variance
        optimiser.update(loss)
        curve.add(step, "unexplained", loss.item())
    optimiser.averaged()


def main():
    parser = argparse.ArgumentParser(description="a start for the demo model's gist network")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stories", type=int, default=3072)
    parser.add_argument("--steps", type=int, default=700)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(args.seed)
    model, words = nw.Frozen(so.DEMO), so.Words()
    net = nw.start_level(model.hidden, train.POOLS[0], train.WIDTH[0])
    start_on_classes(net, model, words)
    train_states(net, model, words, random.Random(f"{args.seed} state"), args)
    train.export(args.out, [net], "")


if __name__ == "__main__":
    main()
