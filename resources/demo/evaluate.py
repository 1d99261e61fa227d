# SPDX-License-Identifier: Apache-2.0
"""Measures an exported demo model on held-out stories: accuracy by context length and distance, and what
happens to the replies when a fact is replaced or deleted and everything after it recomputed.

Only questions whose (thing, place) pair never occurs in training text count. A reply is right when every
word of it is the model's first choice. Writes evaluation.json beside the model.
"""
import json
import os
import random

import torch

import story as st
import train as tr

DISTANCES = (64, 128, 256, 512, 1024)


def load(folder):
    from safetensors.torch import load_file
    return {k: v.float() for k, v in load_file(os.path.join(folder, "model.safetensors")).items()}


def packed(length, tails, rng=None):
    """Mask and positions for a story followed by tails that see the story and themselves only; with rng
    the positions have a random start and random gaps."""
    span = length + max(len(t) for t in tails)
    line = tr.random_positions(rng, span, gaps=True) if rng else list(range(span))
    total = length + sum(len(t) for t in tails)
    mask = torch.ones(total, total, dtype=torch.bool).tril()
    positions = line[:length]
    begin = length
    for tail in tails:
        mask[begin:begin + len(tail), length:begin] = False
        positions += line[length:length + len(tail)]
        begin += len(tail)
    return mask[None, None], torch.tensor([positions])


@torch.no_grad()
def choices(p, words, text, tails, rng=None):
    """First choice of the model after every word of every tail, story read once."""
    ids = [1] + words.encode(text)
    mask, positions = packed(len(ids), tails, rng)
    every = ids + [t for tail in tails for t in words.encode(tail)]
    hidden = tr.forward(p, torch.tensor([every]), positions, mask)
    best = (hidden[0, len(ids):] @ p["lm_head.weight"].T).argmax(1).tolist()
    out, at = [], 0
    for tail in tails:
        out.append(best[at:at + len(tail)])
        at += len(tail)
    return out


def replies(p, words, text, pairs, rng=None):
    """pairs: (question, reply) as word lists. -> (all words right, first word's choice, place's choice)."""
    found = []
    for (question, reply), best in zip(pairs, choices(p, words, text, [q + r[:-1] for q, r in pairs], rng)):
        got = best[len(question) - 1:]
        found.append((got == words.encode(reply), got[0], got[-2]))
    return found


def pair(question, reply):
    return question.split(), reply.split()


def tally(table, key, right):
    row = table.setdefault(str(key), [0, 0])
    row[0] += int(right)
    row[1] += 1


def measure(p, words, story, result):
    """One story: its questions, then one replaced and one deleted fact per held-out question."""
    text = story["text"].split()
    held = [q for q in story["questions"] if q["held_out"]]
    asked = [pair(q["question"], q["reply"]) for q in held + story["unknown"][:4]]
    found = replies(p, words, text, asked)
    for question, (right, _, _) in zip(held, found):
        tally(result["length"], story["tokens"], right)
        distance = next(d for d in DISTANCES if question["distance"] <= d)
        tally(result["distance"], f"<= {distance}", right)
        tally(result["moved"], f"{len(question['facts_of_thing']) - 1} moves", right)
    if held:
        for right, _, _ in replies(p, words, text, asked[:len(held)], random.Random(story["seed"])):
            tally(result["gaps"], story["tokens"], right)
    for right, _, _ in found[len(held):]:
        tally(result["unknown"], story["tokens"], right)
    for question, (right, _, _) in zip(held, found):
        if right:
            replace(p, words, story, text, question, result)
            delete(p, words, story, text, question, result)


def replace(p, words, story, text, question, result):
    fact = story["facts"][question["fact"]]
    own = {story["facts"][i]["place"] for i in question["facts_of_thing"]}
    others = sorted({f["place"] for f in story["facts"]} - own)
    if not others:
        return
    new = random.Random(fact["begin"]).choice(others)
    edited = list(text)
    edited[fact["place_at"] - 1] = new
    reply = question["reply"].replace(" " + question["answer"] + " ", f" {new} ")
    right, _, place = replies(p, words, edited, [pair(question["question"], reply)])[0]
    tally(result["replace_follows"], story["tokens"], right)
    tally(result["replace_old_answer"], story["tokens"], place == words.token[question["answer"]])


def delete(p, words, story, text, question, result):
    fact = story["facts"][question["fact"]]
    edited = text[:fact["begin"] - 1] + text[fact["end"] - 1:]
    old = words.token[question["answer"]]
    _, first, place = replies(p, words, edited, [pair(question["question"], question["reply"])])[0]
    nobody = first == words.token["nobody"]
    tally(result["delete_old_answer"], story["tokens"], place == old and not nobody)
    tally(result["delete_old_place_when_forced"], story["tokens"], place == old)
    if not question["moved"]:
        tally(result["delete_nobody_knows"], story["tokens"], nobody)


def compare(args):
    """The exported folder in transformers (greedy generate) and the f32 checkpoint, question by question."""
    from transformers import LlamaForCausalLM
    words, p = tr.Words(args.data), load(args.model)
    trained = torch.load(os.path.join(args.work, "checkpoint.pt"), weights_only=False)["params"]
    model = LlamaForCausalLM.from_pretrained(args.model, dtype=torch.float32).eval()
    asked, right, worst = 0, [0, 0, 0], 0.0
    for tokens in (128, 256, 512, 1024):
        for number in range(args.stories):
            story = st.describe(st.held_out_story(random.Random(77 * tokens + number), tokens), 0, tokens)
            for q in [q for q in story["questions"] if q["held_out"]][:5]:
                want = words.encode(q["reply"].split())
                ids = torch.tensor([[1] + words.encode((story["text"] + " " + q["question"]).split())])
                with torch.no_grad():
                    theirs = model(ids).logits[0, -1]
                    ours = tr.forward(p, ids, torch.arange(ids.shape[1])[None])[0, -1] @ p["lm_head.weight"].T
                    out = model.generate(ids, max_new_tokens=len(want), do_sample=False, eos_token_id=None,
                                         attention_mask=torch.ones_like(ids), pad_token_id=2)
                worst = max(worst, float((theirs - ours).abs().max() / ours.abs().max()))
                task = [pair(q["question"], q["reply"])]
                text = story["text"].split()
                asked += 1
                right[0] += out[0, ids.shape[1]:].tolist() == want
                right[1] += replies(p, words, text, task)[0][0]
                right[2] += replies(trained, words, text, task)[0][0]
    print(f"{asked} held-out questions; right: transformers {right[0]}, exported bf16 {right[1]}, "
          f"trained f32 {right[2]}; largest relative logit difference {worst:.1e}")


def run(args):
    words, p = tr.Words(args.data), load(args.model)
    kinds = ("length gaps distance moved unknown replace_follows replace_old_answer delete_old_answer "
             "delete_old_place_when_forced delete_nobody_knows").split()
    result = {k: {} for k in kinds}
    for tokens in (128, 256, 512, 1024):
        for number in range(args.stories):
            seed = 1000000 + 10000 * tokens + number
            story = st.describe(st.held_out_story(random.Random(seed), tokens), seed, tokens)
            measure(p, words, story, result)
    for kind, table in result.items():
        print(kind, {k: f"{a}/{n} = {a / n:.3f}" for k, (a, n) in table.items()})
    with open(os.path.join(args.out, "evaluation.json"), "w") as out:
        json.dump({"stories_per_length": args.stories, "right_of_asked": result}, out, indent=1)
        out.write("\n")
