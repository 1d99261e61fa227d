#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small stories with facts, relocations, noise and questions: the demo model's only text.

Text is lower case, words and punctuation are separated by one blank, and every word is one token of
tokenizer.model, so word index + 1 (the <s> token) is the token position. All spans below are token
positions [begin, end) counted with <s> at position 0.

A story places objects ("anna puts the silver key in the attic .") and people ("dora waits in the
barn ."), moves some of them later (the latest fact counts) and has noise sentences between. No
sentence but the fact itself names the place of a thing. A question is "where is the silver key ?"
with the reply "it is in the attic ."; about a thing that was never placed it is "nobody knows .".

Some (object, place) and (person, place) pairs are held out: training text never contains them, neither
as facts nor as replies.

    story.py --seed 7 --tokens 512 --json           one held-out story with its questions
    story.py --seed 7 --tokens 128                  the same as plain text
    story.py --write DIR                            tokenizer.model, stories.json and story.txt
"""
import argparse
import io
import json
import os
import random

WOMEN = "anna dora fay hana jane lena nora pia".split()
MEN = "ben carl emil gus ivan kurt max otto".split()
PEOPLE = WOMEN + MEN
OBJECTS = [o.split() for o in (
    "silver key;old map;red lamp;blue book;tin box;green hat;gold ring;wool coat;"
    "long rope;black pen;clay cup;white flag;glass bell;brass horn;paper kite;sharp axe").split(";")]
PLACES = ("attic cellar kitchen garden barn tower hall shed "
          "stable market harbor chapel school mill forest cave").split()

PLACE_OBJECT = [("puts", "in"), ("leaves", "in"), ("hides", "in")]
MOVE_OBJECT = [("takes", "to"), ("moves", "to"), ("puts", "in")]
PLACE_PERSON = [("waits", "in"), ("is", "in"), ("sits", "in")]
MOVE_PERSON = [("goes", "to"), ("walks", "to"), ("is", "in")]
WEATHER = ["the wind blows", "the rain falls", "a dog barks", "a cat sleeps", "the sun shines",
           "a bird sings", "the moon shines"]
WHEN = ["all day", "all night", "at dawn", "again"]
HABITS = ["likes warm bread", "drinks hot tea", "hums a tune", "sings again", "sleeps all day"]


def things():
    """All things that can be somewhere: ('o', 0..15) objects and ('p', 0..15) people."""
    return [("o", i) for i in range(len(OBJECTS))] + [("p", i) for i in range(len(PEOPLE))]


def held_out(thing, place):
    """True where this thing in this place (index) is kept out of the training text: 2 of 16 places."""
    kind, index = thing
    return (5 * index + place + (3 if kind == "p" else 0)) % 8 == 0


def noun(thing):
    return ["the"] + OBJECTS[thing[1]] if thing[0] == "o" else [PEOPLE[thing[1]]]


def pronoun(thing):
    if thing[0] == "o":
        return "it"
    return "she" if thing[1] < len(WOMEN) else "he"


def question_words(thing):
    return ["where", "is"] + noun(thing) + ["?"]


def reply_words(thing, place):
    if place is None:
        return ["nobody", "knows", "."]
    return [pronoun(thing), "is", "in", "the", PLACES[place], "."]


class Story:
    """Words without <s>; facts in order of appearance; asked holds the questions inside the text."""

    def __init__(self):
        self.words, self.facts, self.asked = [], [], []
        self.state = {}          # thing -> index of its latest fact
        self.replied = set()     # facts that a reply inside the text has repeated

    def add(self, words):
        self.words += words

    def add_fact(self, rng, thing, place, actor):
        moved = thing in self.state
        if thing[0] == "o":
            verb, prep = rng.choice(MOVE_OBJECT if moved else PLACE_OBJECT)
            words = [actor, verb] + noun(thing) + [prep, "the", PLACES[place], "."]
        else:
            verb, prep = rng.choice(MOVE_PERSON if moved else PLACE_PERSON)
            words = noun(thing) + [verb, prep, "the", PLACES[place], "."]
        begin = len(self.words) + 1
        self.words += words
        self.state[thing] = len(self.facts)
        self.facts.append({"thing": thing, "place": place, "begin": begin, "end": begin + len(words),
                           "at": begin + len(words) - 2})

    def add_question(self, thing, instead=()):
        """instead: (place,) or (None,) gives a wrong reply; the thing then stays open to be asked again."""
        fact = self.state.get(thing)
        begin = len(self.words) + 1
        place = None if fact is None else self.facts[fact]["place"]
        question = question_words(thing)
        self.words += question + reply_words(thing, instead[0] if instead else place)
        self.asked.append({"thing": thing, "fact": fact, "begin": begin, "reply": begin + len(question),
                           "end": len(self.words) + 1, "wrong": bool(instead)})
        if fact is not None and not instead:
            self.replied.add(fact)


def pick_place(rng, thing, allowed, avoid):
    """allowed: 'train' (never a held-out pair), 'held' (only held-out pairs), 'any'."""
    while True:
        place = rng.randrange(len(PLACES))
        if place == avoid or allowed == "train" and held_out(thing, place):
            continue
        if allowed == "held" and not held_out(thing, place):
            continue
        return place


def noise(rng, bystanders):
    kind = rng.random()
    if kind < 0.45:
        return (rng.choice(WEATHER) + " " + rng.choice(WHEN) + " .").split()
    person = rng.choice(bystanders)
    if kind < 0.8:
        return [person] + (rng.choice(HABITS) + " .").split()
    return [person, "thinks", "of", "the"] + rng.choice(OBJECTS) + ["."]


def schedule(rng, cast, budget, moves):
    """The order of facts (things, repeated when they move) and noise (None) within budget words."""
    order = []
    for thing in cast:
        draw = rng.random()
        order += [thing] * (1 if draw >= moves else 3 if draw < 0.25 * moves else 2)
    rng.shuffle(order)
    length = {"o": 9, "p": 6}
    while order and sum(length[t[0]] for t in order) > budget:
        order.pop()
    spare = int((budget - sum(length[t[0]] for t in order)) / 5.4)
    for _ in range(spare):
        order.insert(rng.randrange(len(order) + 1), None)
    return order


def tell(rng, budget, count, allowed="train", moves=0.35, ask=0.0, wrong=0.0):
    """A story of about budget words about count things; ask: chance of a question after a sentence;
    wrong: chance that the reply to it is wrong."""
    people = list(range(len(PEOPLE)))
    rng.shuffle(people)
    n_people = min(5, round(count * rng.uniform(0.1, 0.4)))
    n_objects = min(13, count - n_people)
    cast = [("o", i) for i in rng.sample(range(len(OBJECTS)), n_objects)]
    cast += [("p", i) for i in people[:n_people]]
    actors = [PEOPLE[i] for i in people[n_people:n_people + 5]]
    bystanders = [PEOPLE[i] for i in people[n_people + 5:]]
    strangers = [("p", i) for i in people[n_people + 5:]]
    absent = [t for t in things() if t[0] == "o" and t not in cast] + strangers[:3]
    story = Story()
    story.absent = absent
    for thing in schedule(rng, cast, budget, moves):
        if thing is None:
            story.add(noise(rng, bystanders))
        else:
            latest = story.state.get(thing)
            avoid = None if latest is None else story.facts[latest]["place"]
            rule = allowed if allowed != "mixed" else rng.choice(["held", "held", "any"])
            story.add_fact(rng, thing, pick_place(rng, thing, rule, avoid), rng.choice(actors))
        if ask and rng.random() < ask:
            ask_one(rng, story, wrong)
    return story


def ask_one(rng, story, wrong=0.0, unknown=0.12):
    """One question whose right reply the text does not hold yet; False when there is none."""
    open_things = [t for t, f in story.state.items() if f not in story.replied]
    if story.absent and rng.random() < (unknown if open_things else 1.0):
        story.add_question(story.absent.pop(rng.randrange(len(story.absent))))
        return True
    if not open_things:
        return False
    thing = rng.choice(open_things)
    if rng.random() >= wrong:
        story.add_question(thing)
    else:
        right = story.facts[story.state[thing]]["place"]
        story.add_question(thing, (None if rng.random() < 0.2 else pick_place(rng, thing, "train", right),))
    return True


def training_story(rng, tokens):
    """About tokens - 1 words; questions dense, half of the stories ask only at the end. In a third of the
    stories some replies are wrong and the question comes again: only facts count, never earlier replies."""
    low, high = max(2, min(8, tokens // 40)), max(3, min(18, tokens // 16))
    count = rng.randint(low, high)
    reply = 12
    wrong = 0.35 if rng.random() < 0.33 else 0.0
    if rng.random() < 0.5:
        budget = max(tokens - 1 - reply * min(count + 1, tokens // (2 * reply)), 20)
        story = tell(rng, budget, count)
    else:
        budget = int((tokens - 1) * 0.6)
        story = tell(rng, budget, count, ask=min(0.9, count * 7.0 / budget), wrong=wrong)
    while len(story.words) + reply < tokens and ask_one(rng, story, wrong):
        pass
    return story


def held_out_story(rng, tokens, count=None):
    """A story without questions that leaves room for one (12 tokens) within tokens tokens."""
    if count is None:
        count = rng.randint(6, 7) if tokens < 200 else rng.randint(8, 13)
    while True:
        story = tell(rng, tokens - 13, count, allowed="mixed")
        if tokens - 21 <= len(story.words) <= tokens - 13 and len(story.facts) >= 6:
            return story


def describe(story, seed, tokens):
    """The story as plain data: what the edit experiments read."""
    facts, questions = [], []
    for index, fact in enumerate(story.facts):
        thing = fact["thing"]
        facts.append({"thing": " ".join(noun(thing)), "place": PLACES[fact["place"]],
                      "begin": fact["begin"], "end": fact["end"], "place_at": fact["at"],
                      "text": " ".join(story.words[fact["begin"] - 1:fact["end"] - 1]),
                      "latest": story.state[thing] == index, "held_out": held_out(thing, fact["place"])})
    for thing, index in story.state.items():
        fact = story.facts[index]
        history = [i for i, f in enumerate(story.facts) if f["thing"] == thing]
        questions.append({
            "question": " ".join(question_words(thing)), "reply": " ".join(reply_words(thing, fact["place"])),
            "thing": " ".join(noun(thing)), "answer": PLACES[fact["place"]],
            "reply_prefix": " ".join(reply_words(thing, fact["place"])[:-2]),
            "fact": index, "facts_of_thing": history, "moved": len(history) > 1,
            "held_out": held_out(thing, fact["place"]),
            "distance": len(story.words) + 1 - fact["at"]})
    unknown = [{"question": " ".join(question_words(t)), "reply": "nobody knows ."} for t in story.absent]
    return {"seed": seed, "tokens": tokens, "length": len(story.words) + 1, "text": " ".join(story.words),
            "facts": facts, "questions": questions, "unknown": unknown}


def vocabulary():
    words = set(PEOPLE) | {w for o in OBJECTS for w in o} | set(PLACES)
    words |= {w for v in PLACE_OBJECT + MOVE_OBJECT + PLACE_PERSON + MOVE_PERSON for w in v}
    words |= {w for s in WEATHER + WHEN + HABITS for w in s.split()}
    return sorted(words | set("the a is in to thinks of where it she he nobody knows . ?".split()))


def train_tokenizer(size):
    """SentencePiece BPE with byte fallback; None when a word is not one token at this size."""
    import sentencepiece
    model = io.BytesIO()
    words = vocabulary()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(words * 4), model_writer=model, model_type="bpe", vocab_size=size,
        byte_fallback=True, unk_id=0, bos_id=1, eos_id=2, pad_id=-1, character_coverage=1.0,
        normalization_rule_name="identity", hard_vocab_limit=True, num_threads=1, minloglevel=2)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    whole = all(len(processor.encode(w)) == 1 for w in words)
    return model.getvalue() if whole else None


def write_tokenizer(path):
    for size in range(512, 1100, 32):
        try:
            data = train_tokenizer(size)
        except RuntimeError:
            break
        if data:
            with open(path, "wb") as out:
                out.write(data)
            return size
    raise SystemExit("no vocabulary size up to 1100 makes every word one token")


def write_all(folder):
    size = write_tokenizer(os.path.join(folder, "tokenizer.model"))
    stories = []
    for number in range(80):
        tokens = (128, 256, 512)[number % 3] if number < 60 else 1024
        seed = 900000 + number
        stories.append(describe(held_out_story(random.Random(seed), tokens), seed, tokens))
    with open(os.path.join(folder, "stories.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(s) for s in stories) + "\n]\n")
    text = (
        "anna puts the silver key in the cellar . the wind blows all night . ben leaves the old map in the tower . "
        "dora waits in the garden . a cat sleeps all day . carl hides the gold ring in the barn . "
        "emil sits in the kitchen . fay thinks of the red lamp . anna puts the blue book in the attic . "
        "the rain falls again . ben takes the old map to the harbor . gus drinks hot tea . dora goes to the mill .")
    with open(os.path.join(folder, "story.txt"), "w") as out:
        out.write(text + "\n")
    print(f"vocabulary {size}, {len(stories)} stories, start-up story of {len(text.split()) + 1} tokens")


def main():
    parser = argparse.ArgumentParser(description="held-out stories for the demo model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=128, help="context: story plus one question and reply")
    parser.add_argument("--facts", type=int, help="number of things (default by length)")
    parser.add_argument("--train", action="store_true", help="a training story instead of a held-out one")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", metavar="DIR", help="write tokenizer.model, stories.json and story.txt")
    args = parser.parse_args()
    if args.write:
        return write_all(args.write)
    rng = random.Random(args.seed)
    if args.train:
        story = training_story(rng, args.tokens)
    else:
        story = held_out_story(rng, args.tokens, args.facts)
    print(json.dumps(describe(story, args.seed, args.tokens)) if args.json else " ".join(story.words))


if __name__ == "__main__":
    main()
