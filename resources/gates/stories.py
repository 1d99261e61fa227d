#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts for gates of the demo model: stories of its language with questions late in them.

    stories.py --out STORIES.json        a list that `kvlab train gates --text` takes

Half of the stories are first told and then asked about, the others are asked about on the way, too. None of them is in
resources/demo/stories.json.
"""
import argparse
import json
import os
import random
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "demo"))
import story as demo  # noqa: E402


def told(number, args):
    rng = random.Random(args.seed * 100003 + number)
    tokens = rng.randint(args.shortest, args.longest)
    count = rng.randint(6, 14)
    length = tokens - 1 - 12 * rng.randint(3, count) if number % 2 else int((tokens - 1) * 0.7)
    story = demo.tell(rng, length, count, allowed="mixed", ask=0.0 if number % 2 else 3.0 / length * 5)
    while len(story.words) + 12 < tokens and demo.ask_one(rng, story):
        pass
    return {"seed": args.seed * 100003 + number, "tokens": len(story.words) + 1, "questions": len(story.asked),
            "text": " ".join(story.words)}


def main():
    parser = argparse.ArgumentParser(description="texts for gates of the demo model")
    parser.add_argument("--out", required=True)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--shortest", type=int, default=512)
    parser.add_argument("--longest", type=int, default=1000)
    args = parser.parse_args()
    texts = [told(number, args) for number in range(args.count)]
    with open(args.out, "w") as out:
        json.dump(texts, out)
    print(f"{len(texts)} stories, {sum(t['tokens'] for t in texts)} tokens, {sum(t['questions'] for t in texts)} questions")


if __name__ == "__main__":
    main()
