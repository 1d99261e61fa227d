# SPDX-License-Identifier: Apache-2.0
"""Writes a cache as another program would: the file, or the folder, of the right sort. Each layout is written down here a
second time, beside core/foreign."""
import collections
import io
import json
import pickle
import struct
import sys
import types
import zipfile

import numpy as np

from rows import Unfit

NEIGHBOURS = ("llama", "mistral", "mixtral", "smollm3")  # families whose rotary pairs stand side by side in llama.cpp
SLIDING = ("gemma2", "gemma3")                           # families whose layers with a window have a part of their own


def bf16(rows):
    bits = np.ascontiguousarray(rows, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


NUMPY = {"f32": lambda rows: np.ascontiguousarray(rows, np.float32),
         "f16": lambda rows: np.ascontiguousarray(rows).astype(np.float16), "bf16": bf16}
SAFETENSORS = {"f32": "F32", "f16": "F16", "bf16": "BF16", "i64": "I64"}


def _typed(rows, kind):
    if kind not in NUMPY:
        raise Unfit(f"the form has no {kind}")
    out = NUMPY[kind](rows)
    if kind == "f16" and not np.isfinite(out.astype(np.float32)).all():
        raise Unfit("a value is too large for f16")
    return out


def safetensors(path, arrays, metadata=None):
    """arrays: {name: (kind, shape, bytes)}"""
    header, data = {"__metadata__": metadata} if metadata else {}, []
    at = 0
    for name, (kind, shape, content) in arrays.items():
        header[name] = {"dtype": SAFETENSORS[kind], "shape": list(shape), "data_offsets": [at, at + len(content)]}
        at += len(content)
        data.append(content)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))


def _whole(cache):
    """Forms without positions have a row for each token."""
    for positions, keys in zip(cache.positions, cache.keys):
        if len(keys) != len(cache.ids):
            raise Unfit("a layer lacks rows")


def _heads_first(rows, kind):
    """[1, heads, rows, head size]"""
    whole = rows.transpose(1, 0, 2)[None]
    return kind, whole.shape, _typed(whole, kind).tobytes()


def transformers(cache, folder, kind):
    """DynamicCache, a pair of arrays for each layer, with the ids."""
    arrays = {"input_ids": ("i64", (1, len(cache.ids)), np.asarray(cache.ids, np.int64).tobytes())}
    for layer, (k, v) in enumerate(zip(cache.keys, cache.values)):
        arrays[f"layers.{layer}.keys"] = _heads_first(k, kind)
        arrays[f"layers.{layer}.values"] = _heads_first(v, kind)
    path = folder / "cache.safetensors"
    safetensors(path, arrays)
    return path


def mlx(cache, folder, kind):
    """save_prompt_cache: the state of each layer, and what class it has."""
    arrays = {}
    for layer, (k, v) in enumerate(zip(cache.keys, cache.values)):
        arrays[f"{layer}.0"], arrays[f"{layer}.1"] = _heads_first(k, kind), _heads_first(v, kind)
    facts = {f"2.{layer}": "KVCache" for layer in range(cache.layers)}
    facts.update({f"0.{layer}": str(len(k)) for layer, k in enumerate(cache.keys)})
    path = folder / "prompt.safetensors"
    safetensors(path, arrays, facts)
    return path


def _vllm(cache, folder, kind, turn):
    _whole(cache)
    page = 32 if turn else 16
    count = len(cache.ids) // page * page
    if count == 0:
        raise Unfit("no whole page")
    store = folder / "store"
    store.mkdir()
    for layer, (k, v) in enumerate(zip(cache.keys, cache.values)):
        k, v = k[:count], v[:count]
        heads, size = k.shape[1:]
        if turn:  # [pages, heads, 2, ...]: keys lie transposed in front of values
            pages = k.reshape(-1, page, heads, size).transpose(0, 2, 3, 1).reshape(-1, heads, size * page)
            rest = v.reshape(-1, page, heads, size).transpose(0, 2, 1, 3).reshape(-1, heads, size * page)
            both = np.concatenate([pages, rest], axis=2).reshape(-1, heads, page, 2 * size)
            both = both.transpose(0, 2, 1, 3).reshape(count, heads, 2 * size)
        else:
            both = np.concatenate([k, v], axis=2)
        safetensors(store / f"model.layers.{layer}.self_attn.attn.safetensors",
                    {"kv_cache": (kind, both.shape, _typed(both, kind).tobytes())})
    return store


def vllm_cuda(cache, folder, kind):
    """ExampleConnector on CUDA: a key with its value behind it."""
    return _vllm(cache, folder, kind, False)


def vllm_cpu(cache, folder, kind):
    """ExampleConnector on a CPU: pages of 32."""
    return _vllm(cache, folder, kind, True)


def _hadamard(rows, size):
    out = rows.reshape(*rows.shape[:-1], -1, size).astype(np.float64)
    step = 1
    while step < size:
        pairs = out.reshape(*out.shape[:-1], size // (2 * step), 2, step)
        out = np.stack([pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], axis=-2)
        out = out.reshape(*rows.shape[:-1], -1, size)
        step *= 2
    return (out / np.sqrt(size)).reshape(rows.shape).astype(np.float32)


def _ggml(rows, kind):
    """Type number and bytes of a row, [rows, width]."""
    if kind == "f32":
        return 0, np.ascontiguousarray(rows, np.float32)
    if kind in ("f16", "bf16"):
        return {"f16": 1, "bf16": 30}[kind], _typed(rows, kind)
    blocks = rows.reshape(len(rows), -1, 32)
    if kind == "q8_0":
        scale = np.abs(blocks).max(axis=2, keepdims=True) / 127
        codes = np.round(blocks / np.where(scale == 0, 1, scale)).astype(np.int8).view(np.uint8)
    else:
        place = np.abs(blocks).argmax(axis=2)[..., None]
        scale = np.take_along_axis(blocks, place, axis=2) / -8
        nibbles = np.clip(np.floor(blocks / np.where(scale == 0, 1, scale) + 8.5), 0, 15).astype(np.uint8)
        codes = nibbles[..., :16] | nibbles[..., 16:] << 4
    packed = np.concatenate([scale.astype(np.float16).view(np.uint8), codes], axis=2)
    return {"q8_0": 8, "q4_0": 2}[kind], packed.reshape(len(rows), -1)


def _llama_part(cache, layers, kind):
    first = layers[0]
    positions = cache.positions[first]
    heads, size = cache.keys[first].shape[1:]
    if kind in ("q8_0", "q4_0") and size % 32:
        raise Unfit("a head is no whole blocks of 32")
    if any(cache.positions[layer] != positions for layer in layers):
        raise Unfit("layers of a part have other cells")
    out = [struct.pack("<II", 1, len(positions))]
    out += [struct.pack("<iIi", position, 1, 0) for position in positions]
    out.append(struct.pack("<II", 0, len(layers)))
    for all_rows, keys in ((cache.keys, True), (cache.values, False)):
        for layer in layers:
            rows = all_rows[layer]
            if keys and cache.model.family in NEIGHBOURS:
                rows = rows.reshape(len(rows), heads, 2, size // 2).transpose(0, 1, 3, 2).reshape(rows.shape)
            if kind in ("q8_0", "q4_0") and size % 64 == 0:
                turn = 64
                while keys and size % (2 * turn) == 0:
                    turn *= 2
                rows = _hadamard(rows, turn)
            number, data = _ggml(rows.reshape(len(rows), -1), kind)
            out.append(struct.pack("<iQ", number, data[0].nbytes))
            out.append(data.tobytes())
    return b"".join(out)


def llama_cpp(cache, folder, kind):
    """A sequence file of version 3."""
    parts = [[layer for layer in range(cache.layers) if not (cache.model.windows[layer] and
                                                             cache.model.family in SLIDING)]]
    parts.append([layer for layer in range(cache.layers) if layer not in parts[0]])
    newest = max(max(positions) for positions in cache.positions)
    kept = [[i for i, position in enumerate(positions)
             if layer in parts[0] or newest - position < cache.model.windows[layer]]
            for layer, positions in enumerate(cache.positions)]
    cut = type(cache)(cache.model, cache.ids, [[p[i] for i in k] for p, k in zip(cache.positions, kept)],
                      [rows[k] for rows, k in zip(cache.keys, kept)], [rows[k] for rows, k in zip(cache.values, kept)],
                      cache.unturned)
    path = folder / "sequence.ggsq"
    path.write_bytes(struct.pack("<III", 0x67677371, 3, len(cache.ids)) + np.asarray(cache.ids, np.int32).tobytes() +
                     b"".join(_llama_part(cut, part, kind) for part in parts if part))
    return path


def numpy_arrays(cache, folder, kind):
    """An .npz with a pair of arrays [1, heads, rows, head size] for each layer."""
    if kind == "bf16":
        raise Unfit("NumPy has no bfloat16")
    path = folder / "cache.npz"
    arrays = {"input_ids": np.asarray(cache.ids, np.int64)}
    for layer, (k, v) in enumerate(zip(cache.keys, cache.values)):
        arrays[f"k.{layer}"], arrays[f"v.{layer}"] = (_typed(x.transpose(1, 0, 2)[None], kind) for x in (k, v))
    np.savez(path, **arrays)
    return path


def lmcache(cache, folder, kind):
    """The fs connector's chunk with its header: KV_2LTD, [2, layers, tokens, row]."""
    _whole(cache)
    both = np.stack([np.stack([rows.reshape(len(rows), -1) for rows in side]) for side in (cache.keys, cache.values)])
    data = _typed(both, kind).tobytes()
    store = folder / "store"
    store.mkdir()
    head = struct.pack("<7i", len(data), 1, {"f16": 2, "bf16": 3, "f32": 4}[kind], *both.shape)
    (store / "model@1@0@5f2b@half.data").write_bytes(head + data)
    return store


def edge_llm(cache, folder, kind):
    """TensorRT-Edge-LLM's debugger: [batch, 2, heads, rows, head size] for each layer, with room behind the rows."""
    arrays, room = {}, 16
    for layer, (k, v) in enumerate(zip(cache.keys, cache.values)):
        both = np.stack([k.transpose(1, 0, 2), v.transpose(1, 0, 2)])[None]
        both = np.pad(both, ((0, 0), (0, 0), (0, 0), (0, room), (0, 0)))
        arrays[f"round_0.layer_{layer}.kv"] = kind, both.shape, _typed(both, kind).tobytes()
    arrays["round_0.lengths"] = "i64", (1,), np.asarray([cache.length], np.int64).tobytes()
    arrays["input_ids"] = "i64", (1, len(cache.ids)), np.asarray(cache.ids, np.int64).tobytes()
    path = folder / "rounds.safetensors"
    safetensors(path, arrays)
    return path


class _Torch(pickle.Pickler):
    """What torch.save makes of an object with arrays in it, without torch."""

    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.storages = []

    def persistent_id(self, one):
        return one if isinstance(one, tuple) and one[:1] == ("storage",) else None

    def reducer_override(self, one):
        if not isinstance(one, np.ndarray):
            return NotImplemented
        kind = {"float32": "FloatStorage", "float16": "HalfStorage", "int64": "LongStorage"}[str(one.dtype)]
        strides = tuple(int(np.prod(one.shape[i + 1:])) for i in range(one.ndim))
        number = str(len(self.storages))
        self.storages.append(np.ascontiguousarray(one).tobytes())
        made = _TORCH["torch._utils", "_rebuild_tensor_v2"]
        storage = ("storage", _TORCH["torch", kind], number, "cpu", one.size)
        return made, (storage, 0, one.shape, strides, False, collections.OrderedDict())


def _torch_names():
    """Names of torch that a pickle mentions, in modules without content."""
    out = {}
    for module, names in {"torch": ("FloatStorage", "HalfStorage", "LongStorage"),
                          "torch._utils": ("_rebuild_tensor_v2",)}.items():
        made = sys.modules.setdefault(module, types.ModuleType(module))
        for name in names:
            one = type(name, (), {"__module__": module, "__qualname__": name})
            if not hasattr(made, name):
                setattr(made, name, one)
            out[module, name] = getattr(made, name)
    return out


_TORCH = _torch_names()


def torch_save(path, content):
    pickled = io.BytesIO()
    pickler = _Torch(pickled)
    pickler.dump(content)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickled.getvalue())
        for number, data in enumerate(pickler.storages):
            archive.writestr(f"archive/data/{number}", data)
        archive.writestr("archive/version", "3\n")


def sglang(cache, folder, kind):
    """The dumper's folder: a .pt file for each tensor of a step, keys and values as attention takes them in."""
    if kind == "bf16":
        raise Unfit("NumPy has no bfloat16")
    store = folder / "dump"
    store.mkdir()

    def dump(name, layer, value):
        number = len(list(store.iterdir()))
        meta = {"name": name, "step": 0, "rank": 0, "dump_index": number}
        if layer is not None:
            meta["layer_id"] = layer
        torch_save(store / f"step=0___rank=0___dump_index={number}___name={name}___layer_id={layer}.pt",
                   {"value": value, "meta": meta})
    dump("input_ids", None, np.asarray(cache.ids, np.int64))
    for layer, (k, v) in enumerate(zip(cache.keys, cache.values)):
        dump("k", layer, _typed(k, kind))
        dump("v", layer, _typed(v, kind))
    return store


# form: (writer, types)
ALL = {"transformers": (transformers, ("f32", "f16", "bf16")), "llama.cpp": (llama_cpp, ("f16", "f32", "q8_0", "q4_0")),
       "vllm-cuda": (vllm_cuda, ("bf16", "f16", "f32")), "vllm-cpu": (vllm_cpu, ("f32", "f16")),
       "mlx": (mlx, ("bf16", "f16", "f32")), "npz": (numpy_arrays, ("f32", "f16")),
       "lmcache": (lmcache, ("bf16", "f16", "f32")), "edge-llm": (edge_llm, ("f16", "f32")),
       "sglang": (sglang, ("f32", "f16"))}
