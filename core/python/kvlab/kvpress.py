# SPDX-License-Identifier: Apache-2.0
"""Presses of kvpress on the rows of a session.

    from kvlab import kvpress
    kept = kvpress.run(LagKVPress(0.5), session, model)

A press sees what it sees in its own program: attention modules of transformers, hidden states, attention, and a cache,
which here holds the session's rows. The rows that it drops are evicted from the session in one commit, so audit, lanes,
views and undo have them. kvpress 0.5.5 itself needs transformers below 5.3; here it runs on newer ones as well.
"""
import contextlib

import torch

from ._hf_model import attentions_of, same_weights

__all__ = ["run"]


def run(press, session, model):
    """Evicts from the session what a press drops at the end of a prompt. The positions of the rows that stay, [layers]
    [KV heads]. model: a model of transformers with the session's weights; a press that reads attention needs it loaded
    with attn_implementation="eager".

    Where the heads of a layer keep different rows, the session must have residency by head: residency="kv_head"."""
    ids, layers = session.tokens, attentions_of(model)
    if not ids:
        raise ValueError("the session is empty; give it a prompt first")
    stored = _stored(session, len(layers), len(ids), model)
    with _as_it_was(layers):
        cache = _pressed(press, session, model, layers, torch.tensor([ids]), stored)
        kept = [_kept(module, before, held) for module, before, held in zip(layers, stored, cache.layers)]
    actions = _evictions(session, kept)
    if actions:
        session.inject(actions, now=True)
    return [[sorted(rows) for rows in heads] for heads in kept]


@contextlib.contextmanager
def _as_it_was(layers):
    """Takes from attention modules what kvpress leaves there: rows that it would hide from the model's next text."""
    before = [(set(module.__dict__), set(module._modules)) for module in layers]
    try:
        yield
    finally:
        for module, (names, modules) in zip(layers, before):
            for name in (set(module.__dict__) - names) | (set(module._modules) - modules):
                delattr(module, name)
            if "masked_key_indices" in names:
                module.masked_key_indices = None


class _Rotary(torch.nn.Module):
    """The rotary embedding of one layer, as presses call it, where a model has one for each type of layer."""

    def __init__(self, every, layer_type):
        super().__init__()
        self._of_type = lambda x, position_ids: every(x, position_ids, layer_type)

    def forward(self, x, position_ids):
        return self._of_type(x, position_ids)


def _stored(session, layers, length, model):
    """K and V of each layer in the model's type, [1, KV heads, rows, head_dim], keys turned."""
    own, out = len(session.policies()["layers"]) // layers, []
    for layer in range(layers):
        parts = [session.rows_array(layer * own + part, rotated=True) for part in range(own)]
        held = min(len(k) for k, _ in parts)
        if held != length:
            raise ValueError(f"layer {layer} holds {held} of {length} rows; a press decides at the end of a prompt: "
                             "open the session without a policy, and run the press before anything is evicted")
        out.append([torch.cat([torch.from_numpy(pair[which]) for pair in parts], 1).transpose(0, 1)[None]
                    .to(model.device, model.dtype) for which in (0, 1)])
    return out


def _pressed(press, session, model, layers, ids, stored):
    """The cache that a press leaves behind a pass of the model, which reads the session's rows."""
    from transformers import DynamicCache

    cache, filled = DynamicCache(), set()
    update = cache.update

    def with_ours(keys, values, layer, *args, **kwargs):
        out = update(keys, values, layer, *args, **kwargs)
        if layer in filled:  # a press that reads the text again
            return out
        filled.add(layer)
        held, ours = cache.layers[layer], stored[layer]
        if layer == 0:
            same_weights(session, [(theirs[0], own[0]) for theirs, own in zip((held.keys, held.values), ours)])
        held.keys, held.values = (part.clone() for part in ours)
        return held.keys, held.values

    def with_positions(module, args, kwargs):  # presses ask for them; modules had them before transformers 5.3
        first = cache.get_seq_length(module.layer_idx)
        queries = (args[0] if args else kwargs["hidden_states"]).shape[1]
        return args, {**kwargs, "cache_position": torch.arange(first, first + queries, device=model.device)}

    cache.update = with_ours
    hooks = [module.register_forward_pre_hook(with_positions, with_kwargs=True) for module in layers]
    try:
        with torch.no_grad(), press(model):
            for module in layers:
                if hasattr(getattr(module, "rotary_emb", None), "layer_types"):
                    module.rotary_emb = _Rotary(module.rotary_emb, module.config.layer_types[module.layer_idx])
            model.base_model(input_ids=ids.to(model.device), past_key_values=cache)
    finally:
        for hook in hooks:
            hook.remove()
    return cache


def _kept(module, before, held):
    """The rows of each head that a press has left. It shortens the tensors, or marks rows in the module."""
    hidden, out = getattr(module, "masked_key_indices", None), []
    for head in range(before[0].shape[1]):
        places = {}
        for row, content in enumerate(_contents(*(part[0, head] for part in before))):
            places.setdefault(content, []).append(row)
        rows = []
        for content in _contents(held.keys[0, head], held.values[0, head]):
            if not places.get(content):
                raise ValueError(f"layer {module.layer_idx}: the press has changed a row; a session takes from a press "
                                 "which rows stay, not what stands in them")
            rows.append(places[content].pop(0))
        if hidden is not None:
            marked = set(hidden[2][hidden[1] == head].tolist())
            rows = [row for place, row in enumerate(rows) if place not in marked]
        out.append(set(rows))
    return out


def _contents(keys, values):
    return [row.tobytes() for row in torch.cat([keys, values], 1).cpu().contiguous().view(torch.uint8).numpy()]


def _evictions(session, kept):
    ledger = session.ledger(live=True, columns=["id"])["id"]
    by_head, out = "kvHead" in session.policies()["layers"][0], []
    for layer, heads in enumerate(kept):
        if not by_head and any(rows != heads[0] for rows in heads):
            raise ValueError(f"the press keeps rows of layer {layer} by KV head; open the session with "
                             "residency='kv_head'")
        for head, rows in enumerate(heads if by_head else heads[:1]):
            gone = [id for row, id in enumerate(ledger) if row not in rows]
            if gone:
                place = {"layer": layer, "kv_head": head} if by_head else {"layer": layer}
                out.append({"action": "evict", "ledger": gone, **place})
    return out
