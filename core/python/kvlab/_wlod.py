# SPDX-License-Identifier: Apache-2.0
"""Gists and lenses of one's own, for working contexts."""
import numpy as np

from ._added import Given, add, made, numbers
from ._conformance import TEXT, Conformance, opener


class Nodes(Given):
    """Nodes of the tree whose gists shall be made.

    children: [nodes, 32, hidden] embeddings of the tokens under a node, or gists of the level below
    level: 1 or 2
    options: the rule's options as the session has them
    """

    def __len__(self):
        return len(self.children)


class Entries(Given):
    """The entries of a working context, in order.

    start, level: [entries] first moment; 0 for a token, 1 or 2 for a gist of 32 or 1 024 moments
    mass: [entries] attention that they have received; None while there is none
    vectors: [entries, hidden] embeddings
    length: moments of the time line
    options: the lens's options as the session has them
    """

    mass = None

    def __len__(self):
        return len(self.start)


def gist(cls):
    """Adds a rule for gists: a class. Its name in snake_case is one for open(wlod={"gist": "mine"}).

        @kvlab.gist
        class Ends:
            "The mean of the first and the last child."

            def gists(self, nodes):
                return (nodes.children[:, 0] + nodes.children[:, -1]) / 2

    gists(nodes) gives [nodes, hidden], vectors in the space of the embeddings. nodes is a kvlab.Nodes. The layers make the
    gist's K and V of it.
    options: settings with their defaults: {"gist": "mine:alpha=0.7"} sets one, nodes.options has it.
    name: where the rule shall have another name than the class.

    A gist must depend on its own children alone, and be the same for the same children: nodes come alone and together,
    and again. Manifests and captures have the rule's name and a digest of its text, and are refused where it is not
    added, or is another one. An exception in the class fails the tick (kvlab.Error, bad_gist, with the line), and the
    session is as it was.
    """
    own, told = made("gist", cls, "gists")

    def gists(question):
        nodes = Nodes(question)
        return numbers(own.gists(nodes), ((len(nodes), nodes.children.shape[2]),))

    return add(cls, told, gists=gists)


def lens(cls):
    """Adds a lens: a class. Its name in snake_case is one for open(wlod={"lens": "mine"}).

        @kvlab.lens
        class Recent:
            "Detail at the end of the time line."

            def scores(self, entries):
                return np.where(entries.start > entries.length - 256, 0.9, -0.9)

    scores(entries) gives a score for each entry, -1 .. 1: above 0 it shall be expanded, below 0 collapsed. entries is a
    kvlab.Entries. The focus allocator asks it in each of its rounds; thresholds, budget and cooldown are as with every
    lens.
    options: settings with their defaults: {"lens": "mine:alpha=0.7"} sets one, entries.options has it.
    name: where the lens shall have another name than the class.

    It must give the same for the same entries: whoever goes back or replays asks it again. Manifests and captures have its
    name and a digest of its text, and are refused where it is not added, or is another one. An exception in the class
    fails the tick (kvlab.Error, bad_lens, with the line), and the session is as it was.
    """
    own, told = made("lens", cls, "scores")

    def scores(question):
        entries = Entries(question)
        return numbers(own.scores(entries), ((len(entries),),), np.float64)

    return add(cls, told, scores=scores)


_SMALL = {"budget": 64, "protect": 8, "every": 1, "cooldown": 0, "start_tokens": 32}


def _check(key, name, model, options):
    wlod = {**_SMALL, key: {"name": getattr(name, "rule_name", name), **options}}
    return Conformance(opener(model, TEXT * 4, wlod=wlod), layouts=("indirection", "contiguous_splice")).run()


def check_gist(name, model="demo", **options):
    """Runs a rule for gists, by its name or class, through what every rule must hold, in short sessions of a model.
    options are the rule's.
    Returns a list of {"check", "ok", "why"}, where why says what went wrong.

    layouts     full checks find nothing, in two layouts
    repeats     the same tokens twice lead to the same state
    undo        undo and redo lead to the same state
    forks       a fork goes on as its origin does
    captures    a capture replays to the same state
    """
    return _check("gist", name, model, options)


def check_lens(name, model="demo", **options):
    """Runs a lens, by its name or class, through what every lens must hold, in short sessions of a model. options are the
    lens's. The checks are those of check_gist()."""
    return _check("lens", name, model, options)
