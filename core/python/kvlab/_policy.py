# SPDX-License-Identifier: Apache-2.0
"""Eviction policies of one's own."""
import inspect

import numpy as np

from ._added import Given, add, made, numbers
from ._conformance import Conformance, opener

#: The statistics that `needs` may name, each an attribute of Rows.
STATISTICS = {
    "received": "[kv_heads, rows] attention received so far",
    "observed": "[kv_heads, rows] attention by the last queries of the prompt, and those since",
    "newest": "[rows] attention by the newest query",
    "keys": "[rows, kv_heads, head_dim] keys as attention reads them, rotated",
    "values": "[rows, kv_heads, head_dim] values",
    "brightness": "[rows] brightness of the tokens",
    "gates": "[kv_heads, rows] predicted log4 of the rows' lifespans",
    "queries": "query_mean [heads, head_dim] and query_covariance [heads, head_dim, head_dim] before rotation",
    "future": "[lists, rows] attention by queries to come, from a recorded run",
}


class Rows(Given):
    """The resident rows of one cache layer behind a pass, in context order. Arrays are NumPy arrays and yours.

    layer, heads, kv_heads, head_dim: numbers; heads are query heads
    ledger: [rows] ids in the ledger
    next_phase: rotary phase of the next query
    sinks, window: rows in front and at the end that stay whatever they score
    options: the policy's options as the session has them
    position, age: [rows] place of a row, and how many rows ago it came (1 for the newest)
    and one for each statistic that the policy needs: kvlab.policy lists them.
    """

    def __len__(self):
        return len(self.ledger)

    @property
    def position(self):
        return np.arange(len(self))

    @property
    def age(self):
        return len(self) - np.arange(len(self))

    def __getattr__(self, name):
        asked = "queries" if name.startswith("query_") else name
        if asked in STATISTICS:
            raise AttributeError(f"the rows have no {name}: add {asked!r} to the policy's needs")
        raise AttributeError(f"rows have no {name!r}")


def _takes_state(method):
    return len(inspect.signature(method).parameters) > 1


def policy(cls):
    """Adds a policy: a class. Its name in snake_case is the policy's: MyRule is open(policy="my_rule:ratio=0.25").

        @kvlab.policy
        class Mine:
            "Rows that have received much attention for their age."
            needs = ["received"]

            def score(self, rows):
                return rows.received.mean(axis=0) / rows.age

    score(rows) or score(rows, state) gives [rows] or [kv_heads, rows]; the rows with the lowest scores leave, and nan is
    lowest. rows is a kvlab.Rows of one layer. Bands, budgets, pins and heads are as with every policy.
    needs: names of statistics, each then an attribute of rows:
{statistics}
    options: settings with their defaults, as {"alpha": 0.5}: "mine:ratio=0.25,alpha=0.7" sets one, rows.options has it.
    name: where the policy shall have another name than the class.
    observe(rows, state) gives bytes, the state that the policy keeps of a layer behind each pass; init(layer) gives it
    before the first. The state is part of the session: undo, forks, captures and its hash have it. Whatever else the
    object keeps is shared by all layers and sessions, and threads.

    Adding a name again replaces the policy, in open sessions too. What it decided is kept: going back in a session, or
    replaying its capture, repeats the decisions and asks nobody. An exception in the class fails the call that made the
    tick (kvlab.Error, bad_policy, with the line), and the session is as it was.
    """
    own, told = made("policy", cls, "score")
    needs = getattr(cls, "needs", [])
    told.update(needs=[needs] if isinstance(needs, str) else list(needs), observes=hasattr(own, "observe"))
    with_state = _takes_state(own.score)

    def start(rows):
        state = bytes(rows.memory)
        return state if state or not hasattr(own, "init") else own.init(rows.layer)

    def score(given):
        rows = Rows(given)
        scores = own.score(rows, start(rows)) if with_state else own.score(rows)
        return numbers(scores, ((len(rows),), (rows.kv_heads, len(rows))))

    def observe(given):
        rows = Rows(given)
        state = own.observe(rows, start(rows))
        if not isinstance(state, (bytes, bytearray, memoryview)):
            raise TypeError(f"observe gave {type(state).__name__}, not bytes")
        return bytes(state)

    return add(cls, told, score=score, observe=observe)


policy.__doc__ = policy.__doc__.replace(
    "{statistics}", "\n".join(f"        {name:11} {meaning}" for name, meaning in STATISTICS.items()))


_BANDS = {"sinks": 2, "window": 8, "budget": 16}


def check_policy(name, model="demo", **options):
    """Runs a policy, by its name or class, through what every policy must hold, in short sessions of a model. options
    are the policy's.
    Returns a list of {"check", "ok", "why"}, where why says what went wrong.

    layouts     each layer has as many rows as its bands, and full checks find nothing, in every layout
    repeats     the same tokens twice lead to the same state
    undo        undo and redo lead to the same state
    forks       a fork goes on as its origin does
    captures    a capture replays to the same state
    """
    policy = {"name": getattr(name, "rule_name", name), **_BANDS, **options}

    def bands(s):
        rows = {one["layer"]: one["rows"] for one in s.policies()["layers"]}
        wrong = {layer: count for layer, count in rows.items() if count != sum(_BANDS.values())}
        assert not wrong, f"layers have other numbers of rows than {sum(_BANDS.values())}: {wrong}"

    return Conformance(opener(model, policy=policy), bands).run()
