# SPDX-License-Identifier: Apache-2.0
"""Caches of Hugging Face transformers beside the engine.

    from kvlab import hf
    watch = hf.watch(model)                  # before the loop that generates
    model.generate(ids, max_new_tokens=50)
    watch.check()                            # each row of the model's cache against an exact one

Needs torch and transformers 5.2 or newer. Nothing of transformers is subclassed or replaced: hooks of the model see the
cache before and after each forward pass.
"""
import contextlib
import dataclasses
import os
import tempfile
import weakref

import torch

import kvlab

from ._cache_files import load_cache, save_cache
from ._hf_cache import cache
from ._hf_model import UNITS, apart, dtype_of, folder_of

__all__ = ["Change", "Watch", "WrongRow", "cache", "load", "take", "watch"]


def load(session, past_key_values, input_ids, config, position_ids=None, rows=None, verify=False):
    """Puts the rows of a cache of one sequence into a session, as one commit. rows: for layers of unequal length, for
    each layer the indices of the input_ids that it holds. Rows are labelled `loaded`; with verify each is compared with
    what the model computes."""
    with _scratch() as path:
        save_cache(path, past_key_values, input_ids, config, position_ids=position_ids, rows=rows)
        return session.load_cache(path, verify=verify)


def take(session):
    """The session's rows as (DynamicCache, input_ids [1, seq], manifest); position_ids stand in the manifest."""
    with _scratch() as path:
        session.save_cache(path, form="hf_dynamic")
        return load_cache(path)


@contextlib.contextmanager
def _scratch():
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=folder) as made:
        yield os.path.join(made, "cache.safetensors")


@dataclasses.dataclass(frozen=True)
class Change:
    """What the program did to a layer of the cache between two forward passes, or what a pass did besides appending.

    kind: removed (rows left), changed (rows have other values in place), moved (rows stand in another order) or
    replaced (no row is the one before). rows: indices of the layer before the change for removed and moved, after it
    for changed and replaced."""

    forward: int
    layer: int
    kind: str
    rows: tuple


@dataclasses.dataclass(frozen=True)
class WrongRow:
    """A row that is not what an exact pass over the same tokens gives.

    row: its index in the layer's cache; token: the index of its token; key, value: relative L2 difference. since: the
    last change that touched it, or the forward pass that made it."""

    layer: int
    row: int
    token: int
    key: float
    value: float
    since: object

    def __str__(self):
        by = f"since {self.since.kind} before forward {self.since.forward}" if isinstance(self.since, Change) else (
            f"as forward {self.since} made it")
        return (f"layer {self.layer}, row {self.row} (token {self.token}): keys differ by {self.key:.3g}, "
                f"values by {self.value:.3g}, {by}")


class _Layer:
    """The rows of one layer: which token each is of, its fingerprint, and the pass or change that made it so."""

    def __init__(self):
        self.tokens, self.prints, self.since = [], [], []
        self.seen = None  # storage, shape and version of the tensors after the last look

    def mark(self, layer):
        self.seen = _state(layer)


def _state(layer):
    keys, values = layer.keys, layer.values
    return (keys.data_ptr(), values.data_ptr(), tuple(keys.shape), keys._version, values._version)


def _prints(layers, count):
    """A number for each of the last rows of some layers, [layers][rows]; equal rows have equal ones. Sequence 0."""
    if len({(layer.keys.shape, layer.values.shape, layer.keys.dtype) for layer in layers}) > 1:
        return [_prints([layer], count)[0] for layer in layers]
    count, out = min(count, layers[0].keys.shape[-2]), 0
    for name in ("keys", "values"):
        first = layers[0].keys.shape[-2] - count
        part = torch.stack([getattr(layer, name)[0, :, first:] for layer in layers])
        _, heads, _, width = part.shape
        weigh = torch.arange(1, heads * width + 1, device=part.device).view(heads, 1, width) * 0x9E3779B1
        bits = part.view({8: torch.int64, 4: torch.int32, 2: torch.int16}[part.element_size()]).long()
        out = out * 3 + (bits * weigh).sum((1, 3))  # of integers: in any order the same
    return out.tolist()


class _Record:
    """What is known of one cache."""

    def __init__(self):
        self.layers, self.tokens, self.changes, self.forwards, self.refused = [], [], [], 0, None

    def look(self, cache):
        """Compares the cache with the last look; notes what the program has done to it since."""
        if self.refused:
            raise ValueError(self.refused)
        touched = [(number, known, layer) for number, (known, layer) in enumerate(zip(self.layers, _filled(cache)))
                   if known.seen != _state(layer)]
        for number, known, layer in touched:
            self._changed(number, known, layer)
            known.mark(layer)
        if touched:
            held = max((token for known in self.layers for token in known.tokens), default=-1)
            del self.tokens[held + 1:]  # the end of the text was cropped

    def _changed(self, number, known, layer):
        prints = _prints([layer], layer.keys.shape[-2])[0]
        places = {}
        for place, mark in enumerate(known.prints):
            places.setdefault(mark, []).append(place)
        found = [places[mark].pop(0) if places.get(mark) else None for mark in prints]  # place before, by row
        kept = [place for place in found if place is not None]
        fresh = tuple(i for i, place in enumerate(found) if place is None)
        gone = tuple(sorted(set(range(len(known.prints))) - set(kept)))
        changes = {}
        if fresh:
            changes["changed" if kept else "replaced"] = fresh
        if kept and gone and not (len(prints) == len(known.prints) and len(gone) == len(fresh)):
            changes["removed"] = gone
        if kept != sorted(kept):
            changes["moved"] = tuple(kept)
        made = {kind: Change(self.forwards, number, kind, rows) for kind, rows in changes.items()}
        written = made.get("changed") or made.get("replaced")
        tokens, since = [], []
        for i, place in enumerate(found):
            was = i if place is None else place  # a row with new values counts as that of its place
            known_row = was < len(known.tokens)
            tokens.append(known.tokens[was] if known_row else -1)
            moved = made.get("moved") if place is not None and place != i else None
            since.append(written if place is None else moved or known.since[was])
        known.tokens, known.since, known.prints = tokens, since, prints
        self.changes += made.values()

    def append(self, cache, new):
        """A forward pass has appended tokens."""
        if not self.layers:
            self.layers = [_Layer() for _ in _filled(cache)]
        first = len(self.tokens)
        self.tokens += new
        filled = _filled(cache)
        for known, layer, prints in zip(self.layers, filled, _prints(filled, len(new))):
            length = layer.keys.shape[-2]
            known.tokens += range(first, first + len(new))
            known.since += [self.forwards] * len(new)
            known.prints += prints
            for rows in (known.tokens, known.since, known.prints):
                del rows[:max(0, len(rows) - length)]  # a sliding layer lets its oldest rows go
            known.mark(layer)
        self.forwards += 1


class Watch:
    """What the caches of a model hold, row by row, since watch() was called; close() ends it. Answers are about the
    cache of the last forward pass, unless another is given."""

    def __init__(self, model):
        self.model, self._cache, self._records = model, None, weakref.WeakKeyDictionary()
        self._hooks = [
            model.register_forward_pre_hook(self._before, with_kwargs=True),
            model.register_forward_hook(self._after, with_kwargs=True),
        ]

    def close(self):
        """The model runs unwatched from now on."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _before(self, module, args, kwargs):
        cache = kwargs.get("past_key_values")
        record = self._records.get(cache) if hasattr(cache, "layers") else None
        if record and not record.refused:
            record.look(cache)

    def _after(self, module, args, kwargs, output):
        cache, ids = kwargs.get("past_key_values"), kwargs.get("input_ids", args[0] if args else None)
        cache = getattr(output, "past_key_values", None) if cache is None else cache
        if ids is None or not hasattr(cache, "layers"):
            return  # no text, or no cache of transformers 5
        self._cache = cache
        record = self._records.setdefault(cache, _Record())
        record.refused = record.refused or _refusal(ids, kwargs.get("attention_mask"), cache)
        if not record.refused:
            record.append(cache, ids[0].tolist())

    def _looked(self, cache):
        cache = self._cache if cache is None else cache
        if cache not in self._records:
            raise ValueError("no forward pass with this cache was seen; watch the model before it runs")
        self._records[cache].look(cache)
        return cache, self._records[cache]

    def tokens(self, cache=None):
        """The token ids of the text."""
        return list(self._looked(cache)[1].tokens)

    def forwards(self, cache=None):
        """Number of forward passes."""
        return self._looked(cache)[1].forwards

    def changes(self, cache=None):
        """What the program did to the cache between the passes, as a list of Change."""
        return list(self._looked(cache)[1].changes)

    def rows(self, layer, cache=None):
        """For each row of a layer's cache the index of its token; -1 for a row of no token that was seen."""
        return list(self._looked(cache)[1].layers[layer].tokens)

    def session(self, folder=None, cache=None, **manifest):
        """A session that holds the model's rows as they are now. folder: where the model lies, if it was not loaded
        from a folder."""
        cache, record = self._looked(cache)
        made = kvlab.open(folder_of(self.model, folder), **manifest)
        rows = [list(known.tokens) for known in record.layers]
        whole = all(one == list(range(len(record.tokens))) for one in rows)
        pairs = tuple((layer.keys[:1], layer.values[:1]) for layer in _filled(cache))
        try:
            load(made, pairs, record.tokens, self.model.config, rows=None if whole else rows)
        except BaseException:
            made.close()
            raise
        return made

    def check(self, folder=None, limit=None, cache=None):
        """The rows that differ from an exact pass over the same text, the first token first; empty where all agree.
        limit: relative L2; by default that of the cache's type."""
        cache, record = self._looked(cache)
        wrong = []
        with kvlab.open(folder_of(self.model, folder), dtype=dtype_of(self.model), kv={"k": "f32", "v": "f32"},
                        check={"level": "off"}) as exact:
            exact.prompt_ids(record.tokens)
            for number, (known, layer) in enumerate(zip(record.layers, _filled(cache))):
                most = UNITS[layer.keys.dtype] if limit is None else limit
                places = torch.tensor([max(0, token) for token in known.tokens])
                differ = [
                    apart(theirs[0].transpose(0, 1).float().cpu(), torch.from_numpy(ours)[places])
                    for theirs, ours in zip((layer.keys, layer.values), exact.rows_array(number, rotated=True))
                ]
                for row, token in enumerate(known.tokens):
                    key, value = differ[0][row].item(), differ[1][row].item()
                    if token < 0 or not (key <= most and value <= most):
                        wrong.append(WrongRow(number, row, token, key, value, known.since[row]))
        return sorted(wrong, key=lambda one: (one.token, one.layer))


def _refusal(ids, mask, cache):
    """Why a forward pass cannot be followed; None if it can."""
    if ids.shape[0] != 1:
        return f"the pass has {ids.shape[0]} sequences; kvlab.hf.watch follows one: call the model for each by itself"
    if mask is not None and mask.dim() == 2 and not bool(mask.bool().all()):
        return "the attention mask hides tokens, as padding on the left does; give the tokens without padding"
    if hasattr(cache, "kvlab"):
        return "the cache is one of kvlab.hf.cache; its session, cache.kvlab.session, shows its rows"
    if any(layer is None for layer in _filled(cache)):
        return "a layer of the cache holds no keys and values, as recurrent ones do; it cannot be followed"
    return None


def _filled(cache):
    """The layers of a cache, None for one that holds nothing."""
    return [layer if torch.is_tensor(getattr(layer, "keys", None)) else None for layer in cache.layers]


def watch(model):
    """Looks at the cache of a model from now on: a Watch. Ends with close()."""
    return Watch(model)
