# SPDX-License-Identifier: Apache-2.0
"""Mistakes of authors of engines, quantisers and connectors, made in caches that were right. Chosen before anybody had
seen the search that should name them."""
import numpy as np

from rows import Unfit, turned_twice


def _both(cache, change):
    return cache.with_rows([change(k) for k in cache.keys], [change(v) for v in cache.values])


def _heads(cache, least=2):
    if cache.keys[0].shape[1] < least:
        raise Unfit("one KV head")


def ring_in_slot_order(cache, draw):
    """A ring has wrapped, and the dump goes through its slots: the newest rows stand first."""
    by = int(draw.integers(3, cache.length - 3))
    return _both(cache, lambda rows: np.roll(rows, by, axis=0)), {"by": by}


def heads_interleaved(cache, draw):
    """A kernel stores the heads of a token side by side, value by value: [tokens, head size, heads]."""
    _heads(cache)
    return _both(cache, lambda rows: rows.transpose(0, 2, 1).reshape(rows.shape)), {}


def bf16_as_f16(cache, draw):
    """The bytes are bfloat16, and the reader takes them for float16."""
    def misread(rows):
        bits = rows.astype(np.float32).view(np.uint32)
        kept = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        return kept.view(np.float16).astype(np.float32)
    return _both(cache, misread), {}


def scales_of_next_head(cache, draw):
    """8-bit codes with a scale for each token and head, and the scales are indexed one head too far."""
    _heads(cache)

    def shifted(rows):
        scale = np.abs(rows).max(axis=2, keepdims=True) / 127
        codes = np.round(rows / np.where(scale == 0, 1, scale))
        return (codes * np.roll(scale, -1, axis=1)).astype(np.float32)
    return _both(cache, shifted), {}


def rope_twice(cache, draw):
    """The connector turns keys that the engine had turned already."""
    return cache.with_rows(turned_twice(cache), cache.values), {}


def page_table_off_by_one(cache, draw):
    """Every whole page is read from the next entry of the page table."""
    page = 16
    pages = cache.length // page
    if pages < 3:
        raise Unfit("too short for pages")

    def off(rows):
        whole = rows[:pages * page].reshape(pages, page, *rows.shape[1:])
        return np.concatenate([np.roll(whole, -1, axis=0).reshape(pages * page, *rows.shape[1:]), rows[pages * page:]])
    return _both(cache, off), {"page": page}


def values_of_next_layer(cache, draw):
    """Keys are saved layer by layer, and values are handed over one layer late."""
    return cache.with_rows(cache.keys, cache.values[1:] + cache.values[:1]), {}


def stale_prefix(cache, draw):
    """A prefix cache hits with the pages of another text; everything behind them is computed over those."""
    count = 16 * int(draw.integers(1, max(2, cache.length // 32)))
    ids = [int(i) for i in draw.integers(3, cache.vocab, count)] + cache.ids[count:]
    return cache.other_text(ids), {"rows": count}


def nibble_order(cache, draw):
    """4-bit codes in blocks of 32: the packer puts value i beside value i + 16, the reader takes neighbours."""
    width = cache.keys[0].shape[1] * cache.keys[0].shape[2]
    if width % 32:
        raise Unfit("rows are no whole blocks of 32")

    def packed(rows):
        blocks = rows.reshape(-1, 32)
        most = blocks[np.arange(len(blocks)), np.abs(blocks).argmax(axis=1)][:, None]
        scale = most / -8
        codes = np.clip(np.floor(blocks / np.where(scale == 0, 1, scale) + 8.5), 0, 15) - 8
        halves = (codes * scale).reshape(-1, 2, 16)
        return halves.transpose(0, 2, 1).reshape(rows.shape).astype(np.float32)
    return _both(cache, packed), {}


def key_scale_missing(cache, draw):
    """Keys are stored divided by a scale of their layer, and the loader has no scale for one layer."""
    layer, scale = int(draw.integers(cache.layers)), float(np.exp(draw.uniform(np.log(0.02), np.log(0.5))))
    keys = [k / scale if i == layer else k for i, k in enumerate(cache.keys)]
    return cache.with_rows(keys, cache.values), {"layer": layer, "scale": scale}


def one_row_late(cache, draw):
    """From some token on the write offset is one too far: a row stands twice, and the rest come one late."""
    row = int(draw.integers(cache.length // 4, cache.length - 8))
    return _both(cache, lambda rows: np.concatenate([rows[:row + 1], rows[row:-1]])), {"row": row}


def ranks_swapped(cache, draw):
    """Two ranks hold half of the KV heads each, and the gathered file has the ranks in the wrong order."""
    _heads(cache)
    half = cache.keys[0].shape[1] // 2
    return _both(cache, lambda rows: np.roll(rows, half, axis=1)), {}


def heads_for_tokens(cache, draw):
    """A buffer [heads, tokens, head size] goes out under the name of [tokens, heads, head size]."""
    _heads(cache)
    return _both(cache, lambda rows: rows.transpose(1, 0, 2).reshape(rows.shape)), {}


def _fp8_table(exponents, mantissas, bias, infinite):
    code = np.arange(256)
    sign = np.where(code & 128, -1.0, 1.0)
    e, m = (code >> mantissas) & (2 ** exponents - 1), code & (2 ** mantissas - 1)
    value = np.where(e == 0, m / 2 ** mantissas * 2.0 ** (1 - bias), (1 + m / 2 ** mantissas) * 2.0 ** (e - bias))
    top = 2 ** exponents - 1
    lost = (e == top) if infinite else (e == top) & (m == 2 ** mantissas - 1)
    return np.where(lost, np.nan, sign * value)


def e4m3_as_e5m2(cache, draw):
    """8-bit floats of one kind are read as the other kind."""
    wrote, read = _fp8_table(4, 3, 7, False), _fp8_table(5, 2, 15, True)
    good = np.flatnonzero(~np.isnan(wrote))
    order = good[np.argsort(wrote[good], kind="stable")]
    borders = (wrote[order][1:] + wrote[order][:-1]) / 2
    return _both(cache, lambda rows: np.nan_to_num(read[order[np.searchsorted(borders, rows)]]).astype(np.float32)), {}


ALL = (ring_in_slot_order, heads_interleaved, bf16_as_f16, scales_of_next_head, rope_twice, page_table_off_by_one,
       values_of_next_layer, stale_prefix, nibble_order, key_scale_missing, one_row_late, ranks_swapped,
       heads_for_tokens, e4m3_as_e5m2)
