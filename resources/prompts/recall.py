#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the recall sets beside this file: stories of the demo model's language that training never saw, of a given
length in tokens, with questions about where things are. Stories come from ../demo/story.py; equal arguments give
equal bytes.

    recall.py                     writes recall-256.json, recall-512.json and recall-1024.json
    recall.py --tokens 512 --seeds 1 2 3 --questions 100 --out FILE

Every story is asked about each of its things once; a set of one seed has the given number of questions, the last story
being cut. Fields: README.md.
"""
import argparse
import json
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "demo"))
import story as st  # noqa: E402


def seed_of(tokens, seed, number):
    """Apart from the seeds of stories.json (900 000 on) and evaluate.py (1 000 000 on)."""
    return 50_000_000 + 100_000 * tokens + 1_000 * seed + number


def question(story, entry):
    fact = story["facts"][entry["fact"]]
    reply = entry["reply"].split()
    return {"text": entry["question"], "reply": entry["reply"], "deciding": reply.index(entry["answer"]),
            "needle": [fact["begin"], fact["end"]], "needle_at": fact["place_at"], "distance": entry["distance"],
            "held_out": entry["held_out"], "moved": entry["moved"]}


def one_set(tokens, seed, questions):
    stories, asked, number = [], 0, 0
    while asked < questions:
        draw = seed_of(tokens, seed, number)
        number += 1
        told = st.describe(st.held_out_story(random.Random(draw), tokens), draw, tokens)
        some = [question(told, q) for q in told["questions"]][:questions - asked]
        asked += len(some)
        stories.append({"text": told["text"], "tokens": told["length"], "questions": some})
    return {"seed": seed, "stories": stories}


def write(tokens, seeds, questions, path):
    sets = [one_set(tokens, seed, questions) for seed in seeds]
    lines = []
    for entry in sets:
        body = ",\n".join(json.dumps(story) for story in entry["stories"])
        lines.append('{"seed": %d, "stories": [\n%s]}' % (entry["seed"], body))
    about = f"recall.py --tokens {tokens} --seeds {' '.join(map(str, seeds))} --questions {questions}"
    with open(path, "w") as out:
        out.write('{"name": "recall-%d", "about": %s, "sets": [\n%s\n]}\n' % (tokens, json.dumps(about), ",\n".join(lines)))
    print(path, [len(entry["stories"]) for entry in sets], "stories")


def main():
    parser = argparse.ArgumentParser(description="recall sets for the demo model")
    parser.add_argument("--tokens", type=int, help="length of story, question and reply; all three lengths unless given")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--questions", type=int, default=100, help="per seed")
    parser.add_argument("--out", metavar="FILE", help="recall-TOKENS.json beside this script unless given")
    args = parser.parse_args()
    for tokens in [args.tokens] if args.tokens else (256, 512, 1024):
        write(tokens, args.seeds, args.questions, args.out or os.path.join(HERE, f"recall-{tokens}.json"))


if __name__ == "__main__":
    main()
