# SPDX-License-Identifier: Apache-2.0
"""Sessions, lanes and batches. Their methods are made of the engine's schema: a verb or a table of the engine is a
method here, with its signature and its help."""
import html

from . import _core
from ._errors import Error, checked
from ._names import described, given, signature, snake
from ._progress import progress
from ._table import Table
from ._window import pictured, shown

LISTS = _core.lists()
_TABLES = {one["id"]: one for one in LISTS["tables"]}
_SHAPING = ("columns", "where", "begin", "limit")  # arguments that every table takes


def _raised(reply):
    """The reply of a verb; raises the error that its last tick ended with."""
    reports = reply.get("ticks", [reply]) if isinstance(reply, dict) else reply
    last = reports[-1] if isinstance(reports, list) and reports else None
    if isinstance(last, dict) and last.get("ok") is False and isinstance(last.get("error"), dict):
        error = Error(**last["error"])
        error.reports = reports
        raise error
    return reply


class _Asker:
    """What has a handle of the engine, and sends its questions there."""

    _handle = None
    _where = {}  # which of several sessions, and after which tick

    def _ask(self, verb, args):
        with progress(verb) as told:
            return _raised(checked(self._handle.call(verb, args, told)))

    def _arrow(self, args):
        with progress("table") as told:
            return checked(self._handle.arrow(self._where, args, told))

    @staticmethod
    def _table(name):
        return _TABLES[name]

    def close(self):
        """Frees the session's memory and threads. Later calls are refused (closed_session)."""
        self._handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Session(_Asker):
    """A model with its KV cache. Calls of several threads wait for each other. Ctrl+C ends a call behind the last whole
    tick."""

    def __init__(self, handle):
        self._handle = handle

    def fork(self):
        """A second session in the present state; the two share nothing but the model."""
        return Session(checked(self._handle.fork(None)))

    def at(self, tick, branch=None):
        """The session as it was after another tick, to be read and measured."""
        return Past(self, tick, branch)

    def lanes(self, changes, together=True, needles=None):
        """Lanes in lockstep: lane 0 is this session as it is now, which stays as it is; each of the others differs from
        it by the manifest keys of one entry of `changes` and takes its tokens."""
        own = self.fork()
        args = {"lanes": list(changes), "together": together}
        return Lanes(_opened(own, "lanesOpen", args if needles is None else {**args, "needles": needles}))

    def batch(self, size, together=True):
        """So many sequences that begin as this session is now, which stays as it is."""
        return Batch(_opened(self.fork(), "batchOpen", {"size": size, "together": together}))

    def rows_array(self, layer, rotated=False):
        """K and V of the resident rows of a cache layer in context order, each a NumPy array [rows, kv_heads, head_dim]
        of f32 that is yours. Keys are as the model computes them before rotation; with rotated they are turned to their
        rows' phases, as attention reads them."""
        return checked(self._handle.rows(self._where, layer, rotated))

    def pool(self, layer):
        """The records of a layer's pool as they lie in their slots, and the offsets of a record's parts. The array
        [slots, bytes] is read-only, shares its pages with the session, and shows the pool as it is now; it stays valid
        when the session goes on or is closed. Free slots hold whatever was there."""
        return checked(self._handle.pool(self._where, layer))

    def view(self, name="map", path=None, *, size=(960, 600), theme="light", focus=None, options=None):
        """A picture of a view of the window ("map", "strip", "numbers"; `kvlab list views` names them all; "window" is
        all of it) with this session's state, without a display. It is a kvlab.Picture: notebooks show it, save(path)
        writes PNG, SVG or PDF, and so does `path` at once. focus is a place, as {"layer": 3, "row": 12}, options are
        those of the view, as {"quantity": "age"}: what view.focus and view.set of the script language take. The program
        kvlab makes the picture, and does again what the session did (pip install "kvlab[gui]"; the environment variable
        KVLAB names another one)."""
        return pictured(self, name, path, size, theme, focus, options)

    def show(self):
        """Opens the window on this session's state, as a process of its own, which it gives (a subprocess.Popen). What
        is done there does not change the session here."""
        return shown(self)

    def verb(self, name, /, **args):
        """Runs a verb of the engine by its name, with the engine's names of arguments."""
        return self._ask(name, args)

    @property
    def tick(self):
        """Number of the last commit."""
        return self._state("tick")

    @property
    def text(self):
        """The context as text."""
        return self._state("text")

    @property
    def tokens(self):
        """Token ids of the context."""
        return self.ledger(live=True, columns=["tokenId"])["tokenId"]

    @property
    def state_hash(self):
        """The hash of rows, maps and mirror; equal states have equal hashes, however they came about."""
        return self._state("stateHash")

    def __len__(self):
        return self._state("length")

    def _state(self, column):
        return self._ask("table", {"name": "state", "of": {}, "columns": [column]})["columns"][column][0]

    def __repr__(self):
        if self._handle.closed:
            return "<kvlab.Session, closed>"
        return f"<kvlab.Session at tick {self.tick}, {len(self)} tokens>"

    def _repr_html_(self):
        if self._handle.closed:
            return html.escape(repr(self))
        state = next(iter(self.state()))
        lines = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value)[:400])}</td></tr>"
            for name, value in state.items()
            if value is not None
        )
        return f"<table>{lines}</table>"


class Past(Session):
    """A session after another tick. It can be read and measured."""

    def __init__(self, of, tick, branch):
        super().__init__(of._handle)
        self._of, self._then = of, {"tick": tick} if branch is None else {"tick": tick, "branch": branch}
        self._where = {**of._where, **self._then}
        self._state("tick")  # refuses a tick that there is not

    def _ask(self, verb, args):
        return self._of._ask("at", {"verb": verb, "args": args, **self._then})

    def fork(self):
        raise Error("not_a_query", "fork was refused", "another tick can only be read and measured",
                    "go there (goto), and fork the session", "tick", self._then["tick"])

    def close(self):
        """Does nothing: the session that it looks at stays open."""


class _Member(Session):
    """One session of several."""

    def __init__(self, group, kind, place):
        super().__init__(group._handle)
        self._kind, self._place, self._where = kind, place, {kind: place}

    def _ask(self, verb, args):
        return super()._ask(self._kind, {**self._where, "verb": verb, "args": args})

    def fork(self):
        """A session of its own in the present state of this one."""
        own = Session(checked(self._handle.fork(None)))
        own._ask({"lane": "lanesClose", "sequence": "batchClose"}[self._kind], {self._kind: self._place})
        return own

    def close(self):
        raise Error("in_lockstep", f"{self._kind} {self._place} was not closed", "it runs with the others",
                    "close all of them")


class _Group(_Asker):
    _kind, _report = "", ""

    def __init__(self, handle):
        self._handle = handle

    def __len__(self):
        return len(self.report())

    def __getitem__(self, place):
        size = len(self)
        if not isinstance(place, int) or not -size <= place < size:
            raise IndexError(f"{self._kind} {place!r} of {size}")
        return _Member(self, self._kind, place % size)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def report(self):
        """A row for each, as a list of dicts."""
        return self._ask(self._report, {})

    def view(self, *_, **__):
        """Refused: a picture shows one of the sessions."""
        raise self._of_one("no picture was made", "view()")

    def show(self):
        """Refused: a window shows one of the sessions."""
        raise self._of_one("no window was opened", "show()")

    def _of_one(self, what, call):
        return Error("in_lockstep", what, f"a capture, which the window reads, has one {self._kind}, and there are {len(self)}",
                     f"choose one: [0].{call}")

    def __repr__(self):
        return f"<kvlab.{type(self).__name__} of {len(self)}>"

    def _repr_html_(self):
        rows = self.report()
        names = list(dict.fromkeys(name for row in rows for name in row))
        cells = lambda tag, values: "".join(f"<{tag}>{html.escape(str(value))}</{tag}>" for value in values)
        return "<table>" + "".join(
            f"<tr>{line}</tr>" for line in [cells("th", names)] + [cells("td", (row.get(n, "") for n in names)) for row in rows]
        ) + "</table>"


class Lanes(_Group):
    """Sessions that take the same tokens, and differ by manifest keys. Lane 0 is the reference."""

    _kind, _report = "lane", "lanesReport"


class Batch(_Group):
    """Sequences that are stepped together, each with tokens of its own."""

    _kind, _report = "sequence", "batchReport"


def of_session(verb):
    """One session alone has the verb."""
    return verb["lanes"] in ("reference", "feeds", "steps", "refused")


def _opened(own, verb, args):
    try:
        own._ask(verb, args)
    except BaseException:
        own.close()
        raise
    return own._handle


def _method(cls, name, call, sign, doc):
    call.__name__, call.__qualname__, call.__doc__ = name, f"{cls.__name__}.{name}", doc
    call.__signature__ = sign
    setattr(cls, name, call)


def _verb_method(cls, verb, name):
    names, sign = {snake(one["name"]): one["name"] for one in verb["args"]}, signature(verb["args"])

    def call(self, *values, **named):
        return self._ask(verb["id"], given(sign, names, self, values, named))

    _method(cls, name, call, sign, described(verb["title"], verb["args"]))


def _table_method(cls, table):
    names = {snake(one["name"]): one["name"] for one in table["args"]}
    shaping = [name for name in _SHAPING if name not in names]
    sign = signature(table["args"], shaping)

    def call(self, *values, **named):
        all = given(sign, {**names, **{name: name for name in shaping}}, self, values, named)
        args = {"name": table["id"], "of": {name: all.pop(name) for name in names.values() if name in all}}
        return Table(self, {**args, **all})

    _method(cls, snake(table["id"]), call, sign, described(table["title"], table["args"], table["columns"]))


def _make_methods():
    for verb in LISTS["verbs"]:
        if verb["id"] != "at" and of_session(verb):
            _verb_method(Session, verb, snake(verb["id"]))
        if verb["lanes"] in ("feeds", "steps"):
            _verb_method(Lanes, verb, snake(verb["id"]))
        for cls, prefix in ((Lanes, "lanes"), (Batch, "batch")):
            own = verb["id"].startswith(prefix) and verb["id"] != prefix
            name = snake(verb["id"][len(prefix):]).lstrip("_")
            if own and name not in ("open", "close", "report"):
                _verb_method(cls, verb, name)
    for table in _TABLES.values():
        _table_method(Session, table)


_make_methods()
