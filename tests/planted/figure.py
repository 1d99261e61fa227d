#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what the checks named of the planted faults, from the lines of planted_driver."""
import json
import subprocess
import sys
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
PERIOD = 64  # checks of a scrub period
LEVELS = ("full", "cheap")


def titles():
    listed = subprocess.run([sys.executable, HERE / "plant.py", "--list"], check=True, capture_output=True, text=True)
    return {int(n): (path, title) for n, path, title in (line.split("\t") for line in listed.stdout.splitlines())}


def verdict(line):
    """The outcome of a fault in a session."""
    if "signal" in line:
        return "ended"
    if "said" not in line:
        content = set(line["differs"]) & {"logits", "tokens", "rows", "error"}
        return "silent" if content else "labels" if line["differs"] else "harmless"
    if "first" not in line:
        return "early"  # named before anything differs, for example a lost slot
    if line["late"] > PERIOD:
        return "late"
    return "named" if line["said"]["right"] else "elsewhere"


ORDER = ("named", "elsewhere", "late", "silent", "ended", "early", "labels", "harmless")


def describe(line):
    text = f"{line['session']}: {verdict(line)}"
    if "first" in line:
        text += f", {'+'.join(line['first']['parts'])} from step {line['first']['step']}"
    if "said" in line:
        said = line["said"]
        text += f"; {said['invariant']} {'+' + str(line['late']) if 'late' in line else ''}: {said['detail'][:110]}"
    return text


def main():
    lines = [json.loads(line) for line in open(sys.argv[1])]
    known = titles()
    table = {}
    for line in lines:
        table.setdefault(line["fault"], {}).setdefault(line["level"], []).append(line)
    counts = {level: {} for level in LEVELS}
    pairs = {level: [0, 0] for level in LEVELS}
    for number in sorted(table):
        print(f"{number:4} {known[number][0]}: {known[number][1]}")
        for level in LEVELS:
            made = sorted(table[number].get(level, []), key=lambda line: ORDER.index(verdict(line)))
            does = [line for line in made if verdict(line) not in ("harmless", "labels", "early")]
            best = verdict(made[0]) if made else "not reached"
            if made and not does:
                best = verdict(made[0])
            counts[level].setdefault(best, []).append(number)
            named = [line for line in does if verdict(line) == "named"]
            pairs[level][0] += len(named)
            pairs[level][1] += len(does)
            print(f"     {level:5} {best}: named in {len(named)} of {len(does)} sessions that it changes")
            for line in does if "-v" in sys.argv else does[:1]:
                print(f"           {describe(line)}")
    for number in sorted(set(known) - set(table)):
        print(f"{number:4} {known[number][0]}: {known[number][1]}\n     not reached")
    print()
    for level in LEVELS:
        did = [n for word, all_of in counts[level].items() for n in all_of if word not in ("harmless", "labels", "early", "not reached")]
        named = counts[level].get("named", [])
        if did:
            print(f"{level}: named {len(named)} of {len(did)} faults, {100 * len(named) / len(did):.0f} %; in sessions "
                  f"{pairs[level][0]} of {pairs[level][1]}, {100 * pairs[level][0] / max(1, pairs[level][1]):.0f} %")
        for word in ORDER[1:]:
            if counts[level].get(word):
                print(f"   {word}: {', '.join(map(str, counts[level][word]))}")


if __name__ == "__main__":
    main()
