# SPDX-License-Identifier: Apache-2.0
"""Cells of a sweep over the demo model, opened by the commands that its report prints: KVLAB=PROGRAM sweep_cells.py

A random hundredth of the cells, four of the stories and three of the tasks at least, are asked again in the folder of the report,
each one question; text, ids and score must be the reported ones. The session that a command keeps is replayed with its hashes."""
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

KVLAB = os.environ["KVLAB"]
STORIES = ("anna puts the white flag in the attic . emil leaves the tin box in the barn . nora puts the silver key in the "
           "cellar . otto is in the harbor . a cat sleeps at dawn . the moon shines again . lena drinks hot tea .")
ASKED = [("where is the tin box ?", "it is in the", "barn"), ("where is the white flag ?", "it is in the", "cellar"),
         ("where is the silver key ?", "it is in the", "cellar")]


def run(folder, *words, code=0):
    done = subprocess.run([KVLAB, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"kvlab {' '.join(words)}: exit code {done.returncode}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.stdout


def sweep(folder):
    lines = [json.dumps({"context": STORIES, "question": question, "answer_prefix": prefix, "answers": [answer],
                         "max_new_tokens": 3}) for question, prefix, answer in ASKED]
    (folder / "stories.jsonl").write_text("\n".join(lines) + "\n")
    spec = {"name": "cells", "base": {"model": "demo", "capacity": 500},
            "axes": [{"name": "policy", "key": "policy", "values": [
                {"label": "full", "value": "full", "without": ["budget"]}, "random", "h2o", "snapkv"]},
                {"name": "budget", "budget": "ratio", "values": [0.25, 0.5]}],
            "seeds": [1, 2],
            "prompts": [{"name": "stories", "file": str(folder / "stories.jsonl")},
                        {"task": ["needle_single_1", "variable_tracking"], "length": 400, "samples": 2, "max_new_tokens": 4}],
            "measure": ["needles", "answers"]}
    (folder / "spec.json").write_text(json.dumps(spec))
    run(folder, "sweep", "spec.json", "--out", "out")
    return folder / "out"


def chosen(commands, answers, draw):
    """Commands of a hundredth of the cells."""
    stories = [cell for cell in commands if answers[cell][0]["prompts"] == "stories"]
    tasks = [cell for cell in commands if cell not in stories]
    return (draw.sample(stories, max(4, len(stories) // 100)) + draw.sample(tasks, max(3, len(tasks) // 100)))


def main():
    draw, scores = random.Random(20261130), set()
    with tempfile.TemporaryDirectory() as scratch:
        out = sweep(Path(scratch))
        report = (out / "report.html").read_text()
        commands = {int(cell): words for words, cell in re.findall(r"<code>kvlab (sweep \. --cell (\d+):0)</code>", report)}
        answers = {}
        for line in (out / "answers.jsonl").read_text().splitlines():
            one = json.loads(line)
            answers.setdefault(one["index"], []).append(one)
        if sorted(commands) != sorted(answers) or "KL against" in report:
            sys.exit(f"{len(commands)} commands for {len(answers)} cells")
        for cell in chosen(commands, answers, draw):
            place = draw.randrange(len(answers[cell]))
            words = shlex.split(commands[cell].replace(":0", f":{place}"))
            said = json.loads(run(out, *words, "--out", "answer.kvcap", "--json"))
            wanted = {key: answers[cell][place][key] for key in ("text", "ids", "score", "part")}
            if said["now"] != wanted or said["reported"] != wanted:
                sys.exit(f"cell {cell}, question {place}: {said} instead of {wanted}")
            scores.add(wanted["score"])
            run(out, "replay", "answer.kvcap", "--verify")
        text = run(out, "sweep", ".", "--cell", "0:1")
        if not re.search(r'wanted +\["cellar"\]\nreported +".*", score 0', text):
            sys.exit(text)
        if scores != {0.0, 1.0}:
            sys.exit(f"scores {scores}: the sample says little")
    print("sweep_cells: all answers come again")


if __name__ == "__main__":
    main()
