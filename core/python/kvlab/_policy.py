# SPDX-License-Identifier: Apache-2.0
"""Eviction policies of one's own."""
import hashlib
import inspect
import os
import re
import tempfile
import traceback
import typing

import numpy as np

from . import _core
from ._errors import Error, checked, interrupts

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


_PACKAGE = os.path.dirname(__file__) + os.sep


class Rows:
    """The resident rows of one cache layer behind a pass, in context order. Arrays are NumPy arrays and yours.

    layer, heads, kv_heads, head_dim: numbers; heads are query heads
    ledger: [rows] ids in the ledger
    next_phase: rotary phase of the next query
    sinks, window: rows in front and at the end that stay whatever they score
    options: the policy's options as the session has them
    position, age: [rows] place of a row, and how many rows ago it came (1 for the newest)
    and one for each statistic that the policy needs: kvlab.policy lists them.
    """

    def __init__(self, given):
        self.__dict__.update(given)

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


def _guarded(function):
    """Calls give (value, None) or (None, why); why ends with the line of the policy that failed."""

    def call(given):
        try:
            return function(given), None
        except BaseException as error:  # KeyboardInterrupt, too: the engine ends the tick, and the call raises it
            if isinstance(error, KeyboardInterrupt):
                interrupts.append(error)
            frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith(_PACKAGE)]
            place = f" ({frames[-1].filename}, line {frames[-1].lineno}: {frames[-1].line})" if frames else ""
            return None, f"{type(error).__name__}: {error}{place}"

    return call


class _Added(typing.NamedTuple):
    told: dict
    score: typing.Callable
    observe: typing.Callable | None


#: Policies by name, with the functions that the engine calls.
ADDED: dict[str, _Added] = {}


def _revision(cls):
    """A digest of the class's text, so that a sweep is not resumed with another rule."""
    try:
        text = inspect.getsource(cls)
    except (OSError, TypeError):  # typed at a prompt
        codes = [one.__code__ for one in vars(cls).values() if inspect.isfunction(one)]
        plain = (bool, bytes, float, int, str, type(None))  # others have addresses in their text
        text = repr([(one.co_code, [value for value in one.co_consts if isinstance(value, plain)]) for one in codes])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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
    if not inspect.isclass(cls):
        raise Error("bad_policy", "a policy was not added", f"{cls!r} is not a class", "put @kvlab.policy before a class")
    own, needs, options = cls(), getattr(cls, "needs", []), getattr(cls, "options", {})
    needs = [needs] if isinstance(needs, str) else list(needs)
    name = getattr(cls, "name", None) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
    if not callable(getattr(own, "score", None)):
        raise Error("bad_policy", f"the policy {name} was not added", "it has no method score",
                    "define score(self, rows)", field="score")
    if not isinstance(options, dict):
        raise Error("bad_policy", f"the policy {name} was not added", f"its options are {options!r}",
                    'write a dict of defaults, as {"alpha": 0.5}', field="options")
    with_state = _takes_state(own.score)

    def start(rows):
        state = bytes(rows.memory)
        return state if state or not hasattr(own, "init") else own.init(rows.layer)

    def score(given):
        rows = Rows(given)
        scores = own.score(rows, start(rows)) if with_state else own.score(rows)
        scores = np.ascontiguousarray(scores, dtype=np.float32)
        if scores.shape not in ((len(rows),), (rows.kv_heads, len(rows))):
            raise ValueError(f"score gave an array {list(scores.shape)}, not [{len(rows)}] or "
                             f"[{rows.kv_heads}, {len(rows)}]")
        return scores

    def observe(given):
        rows = Rows(given)
        state = own.observe(rows, start(rows))
        if not isinstance(state, (bytes, bytearray, memoryview)):
            raise TypeError(f"observe gave {type(state).__name__}, not bytes")
        return bytes(state)

    help = inspect.cleandoc(cls.__doc__ or "a policy in Python").splitlines()[0]
    told = {"name": name, "help": help, "needs": needs, "options": options,
            "revision": _revision(cls)}
    made = _Added({**told, "observes": hasattr(own, "observe")}, _guarded(score),
                  _guarded(observe) if hasattr(own, "observe") else None)
    checked((None, _core.add_policy(**told, score=made.score, observe=made.observe)))
    ADDED[name] = made
    cls.policy_name = name
    return cls


policy.__doc__ = policy.__doc__.replace(
    "{statistics}", "\n".join(f"        {name:11} {meaning}" for name, meaning in STATISTICS.items()))


_TEXT = ("Anna has a red ball . Tom has a lamp . The lamp is in the box . Tom goes to the garden . Anna takes the ball . "
         "Where is the lamp ? Tom takes the box . Anna goes to the garden . ")
_BANDS = {"sinks": 2, "window": 8, "budget": 16}
_LAYOUTS = ("indirection", "contiguous_splice", "batch_splice", "boolean_gather", "paged")


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
    from . import open as open_session, open_capture

    name = getattr(name, "policy_name", name)
    open_session(model, policy={"name": name, **_BANDS, **options}).close()  # refuses what is no policy

    def opened(layout="indirection"):
        s = open_session(model, policy={"name": name, **_BANDS, **options}, layout=layout)
        s.prompt(_TEXT)
        s.step(4)
        return s

    def sound(s):
        found = [f"{one['id']}: {one['detail']}" for one in s.invariants() if not one["ok"]]
        assert not found, "; ".join(found)
        rows = {one["layer"]: one["rows"] for one in s.policies()["layers"]}
        wrong = {layer: count for layer, count in rows.items() if count != sum(_BANDS.values())}
        assert not wrong, f"layers have other numbers of rows than {sum(_BANDS.values())}: {wrong}"

    def same(a, b, what):
        assert a == b, f"{what}: state {a} became {b}"

    def layouts():
        states = set()
        for layout in _LAYOUTS:
            with opened(layout) as s:
                sound(s)
                states.add(s.state_hash)
        assert len(states) == 1, "layouts lead to different states"

    def repeats():
        with opened() as s, opened() as again:
            same(s.state_hash, again.state_hash, "the same tokens once more")

    def undo():
        with opened() as s:
            before = s.state_hash
            s.undo(4)
            s.redo(4)
            same(before, s.state_hash, "undo and redo")
            s.undo(4)
            s.step(4)
            same(before, s.state_hash, "undo and the same steps")

    def forks():
        with opened() as s, s.fork() as other:
            for one in (s, other):
                one.step(4)
                sound(one)
            same(s.state_hash, other.state_hash, "a fork")

    def captures():
        with opened() as s, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "policy.kvcap")
            s.save_capture(path)
            with open_capture(path) as again:
                same(s.state_hash, again.state_hash, "a capture")

    out = []
    for check in (layouts, repeats, undo, forks, captures):
        why = ""
        try:
            check()
        except (AssertionError, Error) as error:
            why = str(error)
        out.append({"check": check.__name__, "ok": not why, "why": why})
    return out
