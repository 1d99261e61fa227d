# SPDX-License-Identifier: Apache-2.0
"""The price of a rule in Python, and of one as an expression, beside the same rule of the program.

    PYTHONPATH=build/dev/python python3 tests/bench/python_policy.py

Ticks of sessions with the same rows in turns, one thread; medians in milliseconds, and what the rule takes more than
that of the program."""
import statistics
import time

import numpy as np

import kvlab

WINDOW, SINKS = 32, 4


@kvlab.policy
class Heavy:
    needs = ["received"]

    def score(self, rows):
        return rows.received


@kvlab.policy
class ShortKeys:
    needs = ["keys"]

    def score(self, rows):
        return -np.linalg.norm(rows.keys, axis=-1).T


PAIRS = [("heavy", "h2o"), ("score:by=received", "h2o"), ("short_keys", "knorm"), ("score:by=-key_norm", "knorm")]


def opened(model, rows, policy):
    bands = f"heads=sum,sinks={SINKS},window={WINDOW},budget={rows - SINKS - WINDOW}"
    s = kvlab.open(model, threads=1, capacity=rows + 600, history_bytes=0,
                   policy=policy + (":" if ":" not in policy else ",") + bands if policy != "full" else policy)
    s.prompt_ids([3 + i * 7919 % 150 for i in range(rows + 8)])
    s.step(3)
    return s


def measured(model, rows, pair, ticks):
    sessions = {policy: opened(model, rows, policy) for policy in (*pair, "full")}
    times = {policy: [] for policy in sessions}
    for _ in range(ticks):
        for policy, s in sessions.items():
            begin = time.perf_counter()
            report = s.step(1)[0]
            times[policy].append(1e3 * (time.perf_counter() - begin))
            assert report["ok"], report
    for s in sessions.values():
        s.close()
    return {policy: statistics.median(all) for policy, all in times.items()}


print("| model, rows | rule | ms | of the program | ms | more | `full` |\n| --- | --- | --- | --- | --- | --- | --- |")
for model, rows, ticks in (("demo", 1000, 60), ("demo", 8000, 40), ("synthetic:smollm-135m", 1000, 24)):
    for pair in PAIRS:
        found = measured(model, rows, pair, ticks)
        own, theirs = (found[one] for one in pair)
        print(f"| {model}, {rows} | `{pair[0]}` | {own:.2f} | `{pair[1]}` | {theirs:.2f} | {own - theirs:.2f} | {found['full']:.2f} |",
              flush=True)
