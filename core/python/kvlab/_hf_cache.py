# SPDX-License-Identifier: Apache-2.0
"""A cache of transformers whose rows a session's policy chooses: hf.cache().

The session makes the same passes as the model, and decides. After each pass the rows that left the session leave the
tensors of the cache as well, by layer or by KV head. The model goes on at the positions of the text: the cache says how
many tokens it has seen, and a hook before each attention module cuts the model's mask to the rows that its layer holds.
Where the heads of a layer hold unequal numbers of rows, the shorter ones end in rows that the mask hides.
"""
import inspect
import weakref

import numpy as np
import torch

import kvlab

from ._hf_model import attentions_of, dtype_of, folder_of, same_weights

ATTENTION = ("eager", "sdpa")  # implementations that take a mask of their own for each head
REFUSED = ("activate_past_recording", "batch_repeat_interleave", "batch_select_indices", "crop", "reorder_cache")


class _Rows:
    """The rows of one layer in the order of its tensors. [lists, rows], lists: 1, or the KV heads; -1 where a list is
    shorter than the longest one."""

    def __init__(self, ledger, places):
        self.ledger = ledger  # the session's ids
        self.places = places  # positions in the text

    def append(self, ledger, places):
        lists = len(self.ledger)
        self.ledger = np.concatenate([self.ledger, np.tile(ledger, (lists, 1))], axis=1)
        self.places = np.concatenate([self.places, np.tile(places, (lists, 1))], axis=1)

    def keep(self, gone):
        """Drops rows, gone: the ids that leave each list. The columns that stay, [lists, rows], as _padded has them."""
        stay = [np.flatnonzero((own >= 0) & ~np.isin(own, left)) for own, left in zip(self.ledger, gone)]
        columns = _padded(stay, 0)
        hidden = _padded(stay, -1) < 0
        self.ledger, self.places = (np.where(hidden, -1, np.take_along_axis(all, columns, 1))
                                    for all in (self.ledger, self.places))
        return columns


def _padded(lists, filler):
    out = np.full((len(lists), max(map(len, lists))), filler, np.int64)
    for own, values in zip(out, lists):
        own[: len(values)] = values
    return out


class Kept:
    """The session behind a cache of hf.cache(), found as its attribute `kvlab`.

    session: kvlab.Session that made the same passes; its tables, audit and views show the rows of the cache. What is
    changed in it by hand between two passes (edits, evictions, undo) is in the cache before the next pass, with the
    session's rows."""

    def __init__(self, model, session, lossy):
        self.session = session
        self._lossy = lossy  # the cache takes the rows as the session stores them
        self._cache = None  # weak
        config = model.config.get_text_config()
        self._lists = config.num_key_value_heads if "kvHead" in session.policies()["layers"][0] else 1
        self._heads = config.num_attention_heads
        self._empty = torch.empty(0, dtype=model.dtype, device=model.device)
        _, said = session.pool(0)
        ours, theirs = said["kv_heads"] * self._lists, config.num_key_value_heads
        if ours != theirs:
            raise ValueError(f"the model has {theirs} KV heads, that of the session {ours}: folder names another one")
        self._rows, self._seen, self._tick, self._compared = [], 0, session.tick, False
        self._signature = inspect.signature(model.forward)
        self._hooks = [model.register_forward_pre_hook(self._before, with_kwargs=True),
                       model.register_forward_hook(self._after, with_kwargs=True)]
        for layer, module in enumerate(attentions_of(model)):
            self._hooks.append(module.register_forward_pre_hook(_of_layer(self._attend, layer), with_kwargs=True))

    def close(self):
        """Ends the session. The cache is of no use from then on."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        self.session.close()

    def rows(self, layer, kv_head=0):
        """Positions in the text of the rows that a layer of the cache holds, in the order of its tensors."""
        own = self._rows[layer].places[kv_head if self._lists > 1 else 0]
        return own[own >= 0].tolist()

    def bind(self, cache):
        """Makes a cache the one whose rows are chosen: methods of this one object, no class of transformers."""
        self._cache = weakref.ref(cache)
        weakref.finalize(cache, self.close)
        cache.kvlab = self
        cache.get_seq_length, cache.get_mask_sizes, cache.reset = self._length, self._mask_sizes, self._reset
        for name in REFUSED:
            setattr(cache, name, _refused(name))
        return cache

    def _length(self, layer_idx=0):
        """Tokens seen: the next one goes to this position."""
        if not self._hooks:
            raise ValueError("the cache was closed; make another one with kvlab.hf.cache")
        if self.session.tick != self._tick:  # somebody has edited the session
            self._take(self._cache())
        return self._seen

    def _mask_sizes(self, queries, layer_idx=0):
        """The model makes its mask over the whole text. queries: a number, or positions before transformers 5.3."""
        return self._length() + (queries if isinstance(queries, int) else len(queries)), 0

    def _reset(self):
        self.session.reset()
        self._take(self._cache())

    def _given(self, args, kwargs):
        """The arguments of a forward pass with this cache; None for other passes."""
        given = self._signature.bind_partial(*args, **kwargs).arguments
        given.update(given.pop("kwargs", {}))
        cache = given.get("past_key_values")
        return given if cache is not None and cache is self._cache() else None

    def _before(self, model, args, kwargs):
        given = self._given(args, kwargs)
        if given is None:
            return
        refusal = _refusal(given, self._length())
        if refusal:
            raise ValueError(f"kvlab.hf.cache refused the pass: {refusal}")
        self._trim(given["past_key_values"])

    def _attend(self, layer, module, args, kwargs):
        """Cuts the mask of a pass to the rows of a layer."""
        if self._seen == 0 or kwargs.get("past_key_values") is not self._cache():
            return None
        states = args[0] if args else kwargs["hidden_states"]
        return args, {**kwargs, "attention_mask": self._mask(layer, kwargs.get("attention_mask"), states)}

    def _mask(self, layer, whole, states):
        """whole: the mask over the text, [1, 1 or heads, queries, tokens]; None where the model needs none. states: the
        queries, [1, queries, width]."""
        queries, device = states.shape[1], states.device
        old, new = self._rows[layer].places, np.arange(self._seen, self._seen + queries)
        places = np.concatenate([old, np.tile(new, (len(old), 1))], axis=1)
        if whole is None and queries == 1 and (places >= 0).all():
            return None
        places = torch.from_numpy(places).to(device)
        if whole is None:
            later = torch.from_numpy(new).to(device)[:, None] < torch.arange(self._seen + queries, device=device)
            whole = torch.zeros(later.shape, dtype=states.dtype, device=device)
            whole = whole.masked_fill(later, torch.finfo(states.dtype).min)[None, None]
        if len(places) > 1:
            places = places.repeat_interleave(self._heads // len(places), 0)
        heads = max(len(places), whole.shape[1])
        index = places.clamp_min(0)[None, :, None].expand(1, heads, queries, -1)
        cut = whole.expand(1, heads, queries, -1).gather(3, index)
        hidden = (places < 0)[None, :, None]
        return cut.masked_fill(hidden, False if cut.dtype == torch.bool else torch.finfo(cut.dtype).min)

    def _after(self, model, args, kwargs, output):
        given = self._given(args, kwargs)
        if given is None:
            return
        cache, ids, first = given["past_key_values"], given["input_ids"][0].tolist(), self._seen
        try:
            report = self._pass(ids)
        except BaseException:
            self._trim(cache)
            raise
        ledger = self.session.ledger(live=True, begin=first, columns=["id"])["id"]
        if len(ledger) != len(ids):
            raise ValueError(f"the session has {len(self.session)} tokens behind a pass that ends at "
                             f"{first + len(ids)}; leave out what changes its text, as culling and blocks of tokens do")
        self._tick, self._seen = self.session.tick, first + len(ids)
        if not self._rows:
            none = np.empty((self._lists, 0), np.int64)
            self._rows = [_Rows(none, none) for _ in cache.layers]
        for rows in self._rows:
            rows.append(ledger, np.arange(first, self._seen))
        gone = {}
        for one in report["actions"] + report["left"]:
            if one.get("action", "evict") == "evict":
                gone.setdefault(one["layer"], {})[one.get("kv_head", 0)] = one["ledger"]
        for layer, lists in gone.items():
            columns = self._rows[layer].keep([lists.get(own, ()) for own in range(self._lists)])
            cache.layers[layer].keys, cache.layers[layer].values = (
                _columns(part, columns) for part in (cache.layers[layer].keys, cache.layers[layer].values))
        if not self._compared:
            self._compare(cache)
        if self._lossy:
            self._take(cache)

    def _pass(self, ids):
        """The session's report of the same pass."""
        if len(ids) > 1 or not self._seen:
            return self.session.prompt_ids(ids)
        return self.session.step(tokens=ids)[0]

    def _trim(self, cache):
        """Takes back what a pass that failed has appended."""
        for rows, layer in zip(self._rows, cache.layers):
            held = rows.places.shape[1]
            if layer.keys.shape[2] > held:
                layer.keys, layer.values = layer.keys[:, :, :held], layer.values[:, :, :held]
        if not self._rows:
            cache.layers.clear()

    def _compare(self, cache):
        """Looks once whether session and model have the same weights."""
        held, ours = cache.layers[0], self._stored(0)
        seen = torch.from_numpy(self._rows[0].places >= 0).expand(held.keys.shape[1], -1)
        try:
            same_weights(self.session, [(part[0][seen.to(part.device)], own[0][seen])
                                        for part, own in zip((held.keys, held.values), ours)])
        except ValueError:
            self._reset()
            raise
        self._compared = True

    def _stored(self, layer):
        """K and V of a layer as the session has them, f32 [1, KV heads, rows, head_dim], keys turned."""
        parts = [self.session.rows_array(layer * self._lists + own, rotated=True) for own in range(self._lists)]
        length = max(len(k) for k, _ in parts)
        whole = [[np.pad(one, ((0, length - len(one)), (0, 0), (0, 0))) for one in pair] for pair in parts]
        return [torch.from_numpy(np.concatenate(part, axis=1)).transpose(0, 1)[None] for part in zip(*whole)]

    def _take(self, cache):
        """Gives the cache the session's rows as they are now."""
        like = next((layer.keys for layer in cache.layers), self._empty)
        cache.layers.clear()
        self._tick, self._seen, self._rows = self.session.tick, len(self.session), []
        if not self._seen:
            return
        heads = range(self._lists) if self._lists > 1 else (None,)
        for layer in range(len(self.session.policies()["layers"]) // self._lists):
            tables = [self.session.rows(layer, kv_head=head, columns=["ledger", "position", "phase"]) for head in heads]
            if any(one["position"] != one["phase"] for one in tables):
                raise ValueError("the session's phases are not the positions of the text; set position: context")
            self._rows.append(_Rows(*(_padded([one[name] for one in tables], -1) for name in ("ledger", "position"))))
            cache.update(*(part.to(like.device, like.dtype) for part in self._stored(layer)), layer)


def _columns(part, columns):
    """Rows of K or V, [1, KV heads, rows, head_dim], by list."""
    index = torch.from_numpy(columns).to(part.device)
    if len(columns) == 1:
        return part.index_select(2, index[0])
    return part.gather(2, index[None, :, :, None].expand(1, -1, -1, part.shape[3]))


def _of_layer(call, layer):
    return lambda module, args, kwargs: call(layer, module, args, kwargs)


def _refused(name):
    def refuse(*_, **__):
        raise ValueError(f"a cache of kvlab.hf.cache has no {name}: rows that a policy has dropped do not come back, "
                         "and it holds one sequence; generate without beams and without an assistant")

    return refuse


def _refusal(given, seen):
    """Why a pass cannot be made; None if it can."""
    ids, mask, positions = given.get("input_ids"), given.get("attention_mask"), given.get("position_ids")
    if ids is None:
        return "it has embeddings in place of input_ids"
    if ids.shape[0] != 1:
        return f"it has {ids.shape[0]} sequences; give each a cache of its own"
    if mask is not None and not (mask.dim() == 2 and bool(mask.bool().all())):
        return "its mask hides tokens, as padding does; give the tokens without padding"
    wanted = torch.arange(seen, seen + ids.shape[1])
    if positions is not None and not torch.equal(positions.reshape(-1).cpu(), wanted):
        return f"its positions are not {seen} and those behind; leave position_ids out"
    return None


def cache(model, policy="full", format=None, folder=None, **manifest):
    """A DynamicCache for model.generate(past_key_values=...) or a loop of one's own, whose rows the policy of a session
    chooses: once when a pass of several tokens ends, as a prompt, and after each token.

    policy: as kvlab.open takes it, "h2o:ratio=0.25". format: a type of stored rows, "int8", or {"k": ..., "v": ...};
    the model then attends to rows that were stored so. folder: where the model lies, or its name, if it was not loaded
    from a folder. manifest: further keys of kvlab.open. The session is `cache.kvlab.session`; it makes every pass once
    more, on its own back end, which is the price."""
    used = getattr(model.config, "_attn_implementation", None)
    if used not in ATTENTION:
        raise ValueError(f"attention {used!r} takes no mask for each layer; "
                         "load the model with attn_implementation='sdpa'")
    if manifest.get("position", "context") != "context" or "wlod" in manifest:
        raise ValueError("the model's positions are those of the text; leave out position and wlod")
    from transformers import DynamicCache

    attentions_of(model)  # refuses before a session is open
    stored = {"k": format, "v": format} if isinstance(format, str) else format or dict.fromkeys("kv", dtype_of(model))
    session = kvlab.open(folder_of(model, folder), policy=policy, kv=stored, dtype=dtype_of(model), **manifest)
    try:
        return Kept(model, session, lossy=format is not None).bind(DynamicCache())
    except BaseException:
        session.close()
        raise
