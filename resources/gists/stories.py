# SPDX-License-Identifier: Apache-2.0
"""Texts of the demo model's language for gists: training stories, and stories beyond 1 024 tokens that training never saw.

    stories.py --out STORIES.json        a list that `kvlab train gists --text` takes

All ids stand with <s> at moment 0; every word is one token.
"""
import argparse
import json
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DEMO = os.path.join(HERE, "..", "demo")
PROMPTS = os.path.join(HERE, "..", "prompts")
sys.path.append(DEMO)  # behind this folder: it has a train.py, too
import story as st  # noqa: E402


class Words:
    def __init__(self):
        import sentencepiece
        processor = sentencepiece.SentencePieceProcessor(model_file=os.path.join(DEMO, "tokenizer.model"))
        self.token = {word: processor.encode(word)[0] for word in st.vocabulary()}

    def encode(self, words):
        return [self.token[w] for w in words]


def told_line(rng, words, tokens, things):
    """ids [tokens] of a story without questions; only pairs that the demo model was trained with."""
    while True:
        story = st.tell(rng, tokens + 16, rng.randint(*things))
        if len(story.words) + 1 >= tokens:
            return ([1] + words.encode(story.words))[:tokens]


def asked_text(rng, told, tokens, things):
    """A text of `tokens` tokens with <s>: at least `told` moments of telling, at most 16 more or so, then questions with right
    replies; when all is asked, noise."""
    while True:
        story = st.tell(rng, told + rng.randint(0, 16), rng.randint(*things))
        if len(story.words) + 1 < told:
            continue
        while len(story.words) + 1 < tokens and st.ask_one(rng, story):
            pass
        while len(story.words) + 1 < tokens:
            story.words += st.noise(rng, st.PEOPLE)
        return " ".join(story.words[:tokens - 1])


def recall_stories(name):
    """Stories of resources/prompts: [{text, tokens, questions}]."""
    with open(os.path.join(PROMPTS, name + ".json")) as file:
        return [story for entry in json.load(file)["sets"] for story in entry["stories"]]


def long_recall_stories(count, tokens):
    """As the recall sets, of about `tokens` tokens: more than one node of LOD2 covers. Seeds of their own."""
    sys.path.append(PROMPTS)
    import recall
    out, number = [], 0
    while len(out) < count:
        seed = 90_000_000 + number
        number += 1
        rng = random.Random(seed)
        told = st.tell(rng, tokens - 13, rng.randint(8, 13), allowed="mixed")
        if len(told.words) < tokens - 40 or len(told.facts) < 6:
            continue
        plain = st.describe(told, seed, tokens)
        out.append({"text": plain["text"], "tokens": plain["length"], "questions": [recall.question(plain, q) for q in plain["questions"]]})
    return out


def main():
    parser = argparse.ArgumentParser(description="texts for gists of the demo model")
    parser.add_argument("--out", required=True)
    parser.add_argument("--count", type=int, default=100, help="of each length")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(f"{args.seed} gists")
    # told moments: moments of questions behind them, things
    lengths = {128: (72, (3, 6)), 256: (96, (5, 10)), 512: (128, (8, 16)), 1024: (128, (8, 18))}
    texts = [{"text": asked_text(rng, told, told + tail, things)} for _ in range(args.count) for told, (tail, things) in lengths.items()]
    with open(args.out, "w") as out:
        json.dump(texts, out)
    print(f"{len(texts)} stories")


if __name__ == "__main__":
    main()
