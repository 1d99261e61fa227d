# SPDX-License-Identifier: Apache-2.0
"""What every rule of one's own must hold, in short sessions."""
import os
import tempfile

from ._errors import Error

TEXT = ("Anna has a red ball . Tom has a lamp . The lamp is in the box . Tom goes to the garden . Anna takes the ball . "
        "Where is the lamp ? Tom takes the box . Anna goes to the garden . ")
LAYOUTS = ("indirection", "contiguous_splice", "batch_splice", "boolean_gather", "paged")


def same(a, b, what):
    assert a == b, f"{what}: state {a} became {b}"


def opener(model, text=TEXT, **manifest):
    """A function that opens a session with a prompt and four ticks behind it; its arguments are keys of the manifest.
    Error: the manifest names what is no such rule."""
    from . import open as open_session

    open_session(model, **manifest).close()

    def opened(layout="indirection", **more):
        s = open_session(model, **manifest, layout=layout, **more)
        s.prompt(text)
        s.step(4)
        return s

    return opened


class Conformance:
    """Checks over sessions that opened() makes, with a prompt behind them; its argument names a layout where layouts has
    more than one. own(session) looks at a session for the kind."""

    def __init__(self, opened, own=lambda session: None, layouts=LAYOUTS):
        self.opened, self.own, self.all_layouts = opened, own, layouts

    def sound(self, s):
        found = [f"{one['id']}: {one['detail']}" for one in s.invariants() if not one["ok"]]
        assert not found, "; ".join(found)
        self.own(s)

    def layouts(self):
        states = set()
        for layout in self.all_layouts:
            with self.opened(layout) as s:
                self.sound(s)
                states.add(s.state_hash)
        assert len(states) == 1, "layouts lead to different states"

    def repeats(self):
        with self.opened() as s, self.opened() as again:
            same(s.state_hash, again.state_hash, "the same tokens once more")

    def undo(self):
        with self.opened() as s:
            before = s.state_hash
            s.undo(4)
            s.redo(4)
            same(before, s.state_hash, "undo and redo")
            s.undo(4)
            s.step(4)
            same(before, s.state_hash, "undo and the same steps")

    def forks(self):
        with self.opened() as s, s.fork() as other:
            for one in (s, other):
                one.step(4)
                self.sound(one)
            same(s.state_hash, other.state_hash, "a fork")

    def captures(self):
        from . import open_capture

        with self.opened() as s, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rule.kvcap")
            s.save_capture(path)
            with open_capture(path) as again:
                same(s.state_hash, again.state_hash, "a capture")

    def run(self, *more):
        """A list of {"check", "ok", "why"}; more are further checks, functions."""
        out = []
        for check in (*more, self.layouts, self.repeats, self.undo, self.forks, self.captures):
            why = ""
            try:
                check()
            except (AssertionError, Error) as error:
                why = str(error)
            out.append({"check": check.__name__, "ok": not why, "why": why})
        return out
