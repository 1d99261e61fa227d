# SPDX-License-Identifier: Apache-2.0
"""Compressors of one's own: what takes the place of dim tokens."""
import numpy as np

from ._added import Given, add, made, numbers
from ._conformance import Conformance, opener


class Pairs(Given):
    """Pairs of neighbours that culling would replace by one token each, the dimmest first.

    positions: [pairs] place of the first token in the context
    tokens, brightness: [pairs, 2] of both
    context: [length] all tokens of the context
    options: the compressor's options as the session has them
    """

    def __len__(self):
        return len(self.positions)


def compressor(cls):
    """Adds a compressor: a class. Its name in snake_case is one for open(brightness={"compressor": "mine"}).

        @kvlab.compressor
        class KeepsBrighter:
            "The brighter token of a pair stands for both."

            def replace(self, pairs):
                return pairs.tokens[np.arange(len(pairs)), pairs.brightness.argmax(axis=1)]

    replace(pairs) gives the new token id of each pair, or None (-1 in an array) where the pair shall stay. pairs is a
    kvlab.Pairs. Culling chooses the pairs (brightness, target; pins and the user's own edits go first) and puts the new
    tokens into the edit of the tick.
    options: settings with their defaults: {"compressor": "mine:alpha=0.7"} sets one, pairs.options has it.
    name: where the compressor shall have another name than the class.

    It must give the same for the same pairs: whoever goes back or replays asks it again. Manifests and captures have its
    name and a digest of its text, and are refused where it is not added, or is another one. An exception in the class
    fails the tick (kvlab.Error, bad_compressor, with the line), and the session is as it was.
    """
    own, told = made("compressor", cls, "replace")

    def tokens(question):
        pairs = Pairs(question)
        given = own.replace(pairs)
        return numbers([-1 if one is None else one for one in given], ((len(pairs),),), np.int32)

    return add(cls, told, tokens=tokens)


def check_compressor(name, model="demo", **options):
    """Runs a compressor, by its name or class, through what every compressor must hold, in short sessions of a model.
    options are the compressor's.
    Returns a list of {"check", "ok", "why"}, where why says what went wrong.

    layouts     full checks find nothing, in every layout
    repeats     the same tokens twice lead to the same state
    undo        undo and redo lead to the same state
    forks       a fork goes on as its origin does
    captures    a capture replays to the same state
    """
    rules = {"compressor": {"name": getattr(name, "rule_name", name), **options}, "target": 24}
    return Conformance(opener(model, brightness=rules)).run()
