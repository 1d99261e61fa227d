# SPDX-License-Identifier: Apache-2.0
"""Codecs of rows of one's own."""
import numpy as np

from ._added import Given, add, made, numbers
from ._conformance import Conformance, opener, same


class Heads(Given):
    """Keys or values of KV heads on their way into the cache, one vector for each head of each row.

    values: [n, head_dim] f32; keys are not rotated yet. decode() does not have them
    heads: [n] KV head of the layer that a vector belongs to
    layer, keys: the layer; True for keys, False for values
    options: the codec's options as the session has them
    """

    def __len__(self):
        return len(self.heads)

    def __getattr__(self, name):
        if name == "values":
            raise AttributeError("decode() sees only what encode() gave")
        raise AttributeError(f"heads have no {name!r}")


def codec(cls):
    """Adds a codec of rows: a class. Its name in snake_case is a row type: open(kv={"k": "signs", "v": "int8"}).

        @kvlab.codec
        class Signs:
            "One bit a value, and the mean magnitude of the head."

            def encode(self, heads):
                return heads.values > 0, np.abs(heads.values).mean(axis=1, keepdims=True)

            def decode(self, code, heads):
                bits, scale = code
                return np.where(bits, scale, -scale)

    encode(heads) gives anything; decode(code, heads) gives [n, head_dim] of it. heads is a kvlab.Heads. The cache stores
    what comes back, as f32: the row's own query sees it, too. Each vector is encoded by itself: what stands beside it must
    change nothing, because rows come in chunks, alone, and again.
    options: settings with their defaults, as {"bits": 4}: kv={"k": "mine:bits=2"} sets one, heads.options has it.
    name: where the codec shall have another name than the class.

    A key of `layers` gives some layers a codec, session.settings(kv=...) gives it to a living session. Manifests and
    captures have the codec's name and a digest of its text ("mine:bits=2,revision=.."): they are refused where it is not
    added, or is another one. Adding a name again changes nothing in open sessions. Checks of rows measure how far the
    codec moves the exact row, and allow twice that. An exception in the class fails the call (kvlab.Error, bad_codec, with
    the line), and the session is as it was. Codecs run on the CPU, with key_phase on_read.
    """
    own, told = made("codec", cls, "encode", "decode")

    def rows(question):
        values = question.pop("values")
        code = own.encode(Heads({**question, "values": values}))
        return numbers(own.decode(code, Heads(question)), (values.shape,))

    return add(cls, told, rows=rows)


def check_codec(name, model="demo", **options):
    """Runs a codec, by its name or class, through what every codec must hold, in short sessions of a model. options are
    the codec's.
    Returns a list of {"check", "ok", "why"}, where why says what went wrong.

    alone       rows that come one by one are those that come together
    heads       residency by KV head has the same rows
    again       a rebuild makes the same rows
    layouts     full checks find nothing, in every layout
    repeats     the same tokens twice lead to the same state
    undo        undo and redo lead to the same state
    forks       a fork goes on as its origin does
    captures    a capture replays to the same state
    """
    text = {"name": getattr(name, "rule_name", name), **options}
    opened = opener(model, kv={"k": text, "v": text})

    def alone():
        with opened() as s, opened(prefill_chunk=1) as single:
            same(s.state_hash, single.state_hash, "rows one by one")

    def heads():
        with opened() as s, opened(residency="kv_head") as by_head:
            rows, parts = s.rows_array(0), by_head.rows_array(0)
            assert all(np.array_equal(a[:, :1], b[:, :1]) for a, b in zip(rows, parts)), \
                "rows of KV heads that stand alone are others"

    def again():
        with opened() as s:
            before = s.state_hash
            s.rebuild()
            same(before, s.state_hash, "a rebuild")

    return Conformance(opened).run(alone, heads, again)
