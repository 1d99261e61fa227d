# SPDX-License-Identifier: Apache-2.0
"""Seeds and dictionaries for the fuzz targets, from the fixtures of tests/oracle.

usage: seeds.py OUT; writes OUT/NAME/* and OUT/NAME.dict. Fixtures are shrunk: a fuzzer gets further
with small inputs."""
import io
import json
import pathlib
import re
import struct
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ORACLE = HERE.parent / "oracle"
SIZES = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8}
ACTIONS = [
    {"action": "replace_pair", "original_pos1": 48, "original_pos2": 49, "new_token_ids": [13319]},
    {"action": "replace", "positions": [1, 2], "new_token_ids": [3, 4, 5]},
    {"action": "add", "token_id": 13},
    {"action": "delete", "position": 7},
    {"action": "insert", "position": 0, "token_ids": [1, 2]},
    {"action": "evict", "layer": 2, "kv_head": 1, "ledger": [4, 5]},
    {"action": "expand", "node": 7},
    {"action": "collapse", "node": 9},
]
MANIFEST = {
    "model": "synthetic:tiny", "backend": "cpu", "threads": 1, "weights": "int8", "dtype": "f32", "kv": {"k": "f16", "v": "bf16"},
    "key_phase": "on_read", "position": "absolute", "layout": "contiguous_splice", "policy": {"name": "full"},
    "capacity": 512, "staging": 8, "history_bytes": 1024, "executor": "descending", "after_edit": "selective",
    "absolute_overflow": "shift", "brightness": {"decay": 1.5, "gain": 9, "max": 255, "start": {"user": 200}, "target": 9,
                                                 "compressor": "nearest"},
    "sampling": {"temperature": 0.7, "top_k": 40, "top_p": 0.9, "repetition_penalty": 1.1, "seed": 5},
    "check": {"level": "full", "scrub_period": 32}, "probes": False,
}


EXPRESSIONS = [
    "length >= 900 and not evicted(layer==3, ledger<12)", "changed(rows(layer==0)) or wrap", "stage(plan)",
    "before(phase(layer!=1, slot>=4)) + 1e-3 * -kl % 7 / 2 - 5 < read(ledger==12)", "!error && (invariant || moved)",
    "exactness(ledger==12) != 'exact'", 'text == "a b"', "token == 17", "written(slot<=61) and stale and deleted"]


def small_safetensors(path):
    """The same names and types with one or two values each."""
    raw = path.read_bytes()
    header = json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])
    out, at = {}, 0
    for name, entry in list(header.items())[:8]:
        if name == "__metadata__":
            out[name] = entry
            continue
        shape = [min(2, d) for d in entry["shape"]]
        size = SIZES[entry["dtype"]]
        for d in shape:
            size *= d
        out[name] = {"dtype": entry["dtype"], "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(out).encode()
    return struct.pack("<Q", len(text)) + text + bytes(i % 251 for i in range(at))


def small_tokenizer(path):
    """The first merges, and the vocabulary they and the single characters need."""
    value = json.loads(path.read_text())
    model = value["model"]
    merges = [m.split(" ", 1) if isinstance(m, str) else m for m in model["merges"][:12]]
    added = {t["content"] for t in value["added_tokens"]}
    keep = {a + b for a, b in merges} | {t for pair in merges for t in pair} | added
    model["vocab"] = {t: i for t, i in model["vocab"].items() if t in keep or t.startswith("<0x4") or len(t) == 1 and i % 3 == 0}
    model["merges"] = model["merges"][:12]
    return json.dumps(value).encode()


def safetensors(tensors, manifest):
    """tensors: name -> (dtype, shape, bytes)"""
    out, at = {"__metadata__": {"kvlab": json.dumps(manifest)}}, 0
    for name, (dtype, shape, data) in tensors.items():
        out[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(out).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values())


def row_record(tag):
    """kernels/row_format.h for 1 head of 16 values, K f16, V f32; kernels/row_checksum.h."""
    mask = (1 << 64) - 1

    def mix(z):
        z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93 & mask
        return z ^ (z >> 29)
    body = struct.pack("<16e", *[i / 8 for i in range(16)]) + struct.pack("<16f", *[i / 16 for i in range(16)])
    body += bytes(112 - len(body))
    checksum = mix(tag ^ 0xd6e8feb86659fd93)
    for i, word in enumerate(struct.unpack("<28I", body)):
        checksum += mix(word ^ ((i + 1) * 0x9e3779b97f4a7c15 & mask))
    return body + struct.pack("<QQ", tag, checksum & mask)


def cache_seeds():
    """Two layers as tests/fuzz/cache_fuzz.cpp has them; the first byte chooses the position mode or a wLOD session."""
    model = {"model_type": "llama", "num_hidden_layers": 2, "num_key_value_heads": 1, "head_dim": 16, "rope_theta": 10000.0}
    common = {"format": "kvlab-cache", "version": 1, "model": model, "input_ids": [3, 4], "position_ids": [0, 1], "edited": False}
    seeds = {}
    for form, dtype, code in (("hf_dynamic", "float32", "f"), ("hf_tuple", "float16", "e")):
        data = struct.pack("<32" + code, *[i / 32 for i in range(32)])
        kind = {"f": "F32", "e": "F16"}[code]
        tensors = {f"past_key_values.{n}.{part}": (kind, [1, 1, 2, 16], data) for n in (0, 1) for part in ("key", "value")}
        seeds[form] = b"\0" + safetensors(tensors, {**common, "form": form, "dtype": dtype})
        gap = {**common, "form": form, "dtype": dtype, "position_ids": [4, 9]}
        seeds[form + "_gap"] = b"\1" + safetensors(tensors, gap)

    part = lambda shape: ("F32", shape, bytes(4 * shape[0] * shape[1] * shape[2] * shape[3]))  # noqa: E731
    names = [f"past_key_values.{n}.{p}" for n in (0, 1) for p in ("key", "value")]
    hf = {**common, "form": "hf_dynamic", "dtype": "float32"}
    seeds["hf_positions"] = b"\0" + safetensors({n: part([1, 1, 2, 16]) for n in names}, {**hf, "position_ids": [0]})
    seeds["hf_one_layer"] = b"\0" + safetensors({n: part([1, 1, 2, 16]) for n in names[:2]}, hf)
    seeds["hf_shape"] = b"\0" + safetensors({n: part([1, 2, 1, 16]) for n in names}, hf)

    def ints(code, shape, *values):
        kind = {"i": "I32", "q": "I64", "Q": "U64", "B": "U8", "f": "F32"}[code]
        return kind, shape, struct.pack(f"<{len(values)}{code}", *values)
    # Row 0 was replaced by row 2, row 1 lives on and is absent from layer 1.
    tensors = {
        "ledger.token": ints("i", [3], 3, 4, 5), "ledger.flags": ints("B", [3, 4], 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 4, 0),
        "ledger.brightness": ints("f", [3], 255, 255, 9), "ledger.ticks": ints("q", [3, 2], 1, 2, 1, 1, 2, 2),
        "ledger.birth_phases": ints("i", [3], 0, 1, 0), "ledger.parents": ints("i", [1], 0),
        "ledger.parent_ends": ints("i", [3], 0, 0, 1), "ledger.children": ints("i", [1], 2),
        "ledger.child_ends": ints("i", [3], 1, 1, 1), "context.ledger": ints("i", [2], 2, 1),
        "context.phases": ints("i", [2], 0, 1), "context.brightness": ints("f", [2], 1, 2),
        "groups.0.ledger": ints("i", [2], 2, 1), "groups.0.phases": ints("i", [2], 0, 1),
        "groups.0.provenance": ints("Q", [3, 3], *range(9)), "groups.1.ledger": ints("i", [1], 2),
        "groups.1.phases": ints("i", [1], 0), "groups.1.provenance": ints("Q", [3, 3], *range(9)),
        "rows.0": ("U8", [2, 128], row_record(2) + row_record(1)), "rows.1": ("U8", [1, 128], row_record(2)),
    }
    native = {**common, "form": "native", "dtype": "float32", "fingerprint": "f", "numerics": "n", "position": "context",
              "rows": {"k": "f16", "v": "f32", "stride": 128}, "group_of": [0, 1], "random": [1, 0], "tick": 2,
              "pending": [{"action": "delete", "position": 1}]}
    seeds["native"] = b"\0" + safetensors(tensors, native)
    # Moments 0 to 31 stand in a gist, row 33, and token 32 behind it.
    rows = row_record(33) + row_record(32)
    tensors = {
        "ledger.token": ints("i", [34], *[3] * 34),
        "ledger.flags": ints("B", [34, 4], *[0, 4, 1, 0] * 32, 0, 0, 1, 0, 1, 0, 0, 0),
        "ledger.brightness": ints("f", [34], *[255] * 34), "ledger.ticks": ints("q", [34, 2], *[1, 2] * 34),
        "ledger.birth_phases": ints("i", [34], *range(33), 16), "ledger.parents": ints("i", [0]),
        "ledger.parent_ends": ints("i", [34], *[0] * 34), "ledger.children": ints("i", [0]),
        "ledger.child_ends": ints("i", [34], *[0] * 34), "context.ledger": ints("i", [2], 33, 32),
        "context.phases": ints("i", [2], 16, 32), "context.brightness": ints("f", [2], 1, 2),
        "groups.0.ledger": ints("i", [2], 33, 32), "groups.0.phases": ints("i", [2], 16, 32),
        "groups.0.provenance": ints("Q", [34, 3], *[0] * 102), "rows.0": ("U8", [2, 128], rows), "rows.1": ("U8", [2, 128], rows),
        "tree.tokens": ints("i", [33], *range(33)), "tree.1.names": ints("i", [1], 33), "tree.2.names": ints("i", [0]),
        "tree.1.gists": ints("f", [1, 4], 0, 1, 2, 3), "tree.2.gists": ints("f", [0, 4]),
        "entries.nodes": ints("q", [2], 1, 128), "entries.changed": ints("i", [2], 0, -1),
        "entries.mass": ("F64", [2], struct.pack("<2d", 0.5, 0.25)), "arrivals.stale": ints("B", [2], 0, 1),
        "next.logits": ints("f", [32], *range(32)),
    }
    wlod = {**native, "version": 3, "group_of": [0, 0], "keep": [0, 0], "pending": [], "memory": None,
            "wlod": {"settings": {"budget": 24}, "round": 1, "since_round": 3}}
    seeds["wlod"] = b"\x80" + safetensors(tensors, wlod)
    seeds["wlod_pyramid"] = b"\x82" + safetensors(tensors, wlod)
    return seeds


def capture_seeds():
    """The first byte, odd, makes the target frame the payloads."""
    header = {"manifest": {"model": "synthetic:tiny"}, "fingerprint": "f", "numerics": "n"}
    commands = [{"verb": "promptIds", "args": {"ids": [1, 2]}, "tick": 1, "commits": 1, "hash": "00ff"},
                {"verb": "step", "args": {"n": 2, "pending": ACTIONS[:3]}, "tick": 3, "commits": 2},
                {"verb": "undo", "args": {}, "tick": 2, "commits": 0}]
    asides = [{"notes": [{"id": 1, "text": "a note", "tick": 1, "layer": 1, "kvHead": 0, "ledger": 0},
                         {"id": 2, "text": "", "tick": 9, "branch": "branch-1"}],
               "breakpoints": [{"id": 1, "condition": "kl > 1", "ignore": 0, "once": False, "log": True, "enabled": True,
                                "hits": 2, "last": 3}]},
              {"removed": [2], "breakpoints": []}]
    join = lambda values: b"\1" + b"\0".join(json.dumps(v).encode() for v in values)  # noqa: E731
    return {"whole": join([header] + commands), "empty": join([header]), "line": b"\0kvlab-capture 1\n",
            "progress": join([header, {**commands[0], "hash": ""}, {"commits": 3, "tick": 3, "hash": "00ff"},
                              {"pending": ACTIONS[:2]}]),
            "asides": join([header, commands[0], asides[0], commands[1], asides[1]])}


def tokenizer_step_seeds(base):
    """One step that no fixture has, in place of the fixture's own."""
    steps = {
        "decoder_metaspace": ("decoder", {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True, "prepend_scheme": "never"}),
        "normaliser_strip": ("normalizer", {"type": "Strip", "strip_left": True, "strip_right": True}),
        "whitespace": ("pre_tokenizer", {"type": "Whitespace"}),
        "metaspace_never": ("pre_tokenizer", {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True}),
    }
    for behaviour in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        steps[f"split_{behaviour}"] = ("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": behaviour, "invert": behaviour == "Isolated"})
    seeds = {}
    for name, (place, step) in steps.items():
        value = json.loads(base)
        value[place] = step
        seeds[name] = json.dumps(value).encode() + b"\0  he the\t\xe3\x80\x80key x\xc3\xa9_12 door \n"
    return seeds


def config_seeds(base):
    """Keys that no fixture's config.json has."""
    value = json.loads(base)
    n = value["num_hidden_layers"]
    more = {"layer_types": {"sliding_window": 8, "use_sliding_window": True, "layer_types": ["sliding_attention", "full_attention"] * n},
            "layer_types_full": {"layer_types": ["full_attention"] * n}, "layer_types_number": {"layer_types": 3},
            "layer_types_unknown": {"layer_types": ["linear_attention"] * n}, "layer_types_no_window": {"layer_types": ["sliding_attention"] * n},
            "quantised": {"quantization_config": {"bits": 4}}, "partial": {"partial_rotary_factor": 0.5},
            "rope_by_layer": {"rope_parameters": {"full_attention": {"rope_theta": 1e4}, "sliding_attention": {"rope_theta": 1e6}}},
            "rope_partial": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}}}
    more["layer_types"]["layer_types"] = more["layer_types"]["layer_types"][:n]
    return {name: json.dumps(value | {"model_type": "qwen2"} | change).encode() for name, change in more.items()}


def model_file_seeds():
    """The first byte chooses the file; tests/fuzz/model_files_fuzz.cpp has shards a and b."""
    whole = {"metadata": {"total_size": 16}, "weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}
    seeds = {"index": (0, whole), "index_one": (0, {"weight_map": {"a": "a.safetensors"}}),
             "index_path": (0, {"weight_map": {"a": "../a.safetensors"}}), "index_empty": (0, {"weight_map": {}}),
             "index_number": (0, {"weight_map": {"a": 3}}), "index_wrong": (0, {"weight_map": {"b": "a.safetensors"}}),
             "index_no_safetensors": (0, {"weight_map": {"a": "config.json"}}),
             "generation": (1, {"eos_token_id": [2, 7], "bos_token_id": 1}), "generation_one": (1, {"eos_token_id": 299}),
             "generation_outside": (1, {"eos_token_id": 300}), "generation_list": (1, [1]),
             "tokenizer": (2, {"add_bos_token": False, "add_eos_token": True}), "tokenizer_text": (2, "add_bos_token")}
    return {name: bytes([which]) + json.dumps(value).encode() for name, (which, value) in seeds.items()}


def verb_seeds():
    """The first byte chooses the session; then one call a line."""
    prompt, edits = ["promptIds", {"ids": list(range(5, 25))}], [
        {"action": "replace_pair", "original_pos1": 4, "original_pos2": 5, "new_token_ids": [7]},
        {"action": "replace", "positions": [8, 10], "new_token_ids": [8, 9, 10]}, {"action": "delete", "position": 12},
        {"action": "insert", "position": 14, "token_ids": [1, 2]}, {"action": "evict", "layer": 0, "ledger": [16, 17]},
        {"action": "add", "token_id": 11}]
    calls = {
        "edit": [["inject", {"actions": edits}], ["plan", {"actions": edits[5:]}], ["step", {"n": 2}], ["undo"], ["redo"]],
        "apply": [["inject", {"actions": edits[:2]}], ["stepAction"], ["apply"], ["clearPending"], ["rebuild"], ["drift", {"rows": True}]],
        "now": [["inject", {"actions": edits[:1]}], ["inject", {"actions": edits[2:], "now": True}], ["undo"], ["inject", {"actions": edits, "now": True}]],
        "text": [["prompt", {"text": "a door"}], ["tokenise", {"text": "x"}], ["detokenise", {"ids": [65]}], ["text"], ["tokens"]],
        "run": [["break", {"condition": "length >= 23"}], ["run", {"maxTicks": 9}], ["clearBreaks"], ["isFull"], ["remaining"]],
        "rows": [["evict", {"layer": 1, "ledger": [3, 4], "now": True}], ["rows", {"layer": 1, "begin": 2, "end": 6}], ["pos2ledger", {"layer": 1}],
                 ["row", {"layer": 0, "index": 3, "which": "k", "rotated": True}], ["attention", {"layer": 0}], ["topk", {"k": 3}], ["logits"]],
        "ledger": [["pin", {"ledger": 3, "on": True}], ["setBrightness", {"ledger": 4, "value": 17.5}], ["ledger", {"id": 3}],
                   ["history", {"ledger": 4}], ["evict", {"layer": 0, "ledger": [3]}]],
        "past": [["step", {"tokens": [5, 6]}], ["goto", {"tick": 1}], ["step"], ["branches"], ["undo"], ["goto", {"tick": 0}], ["reset"]],
        "files": [["saveCache", {"path": "a", "form": "native"}], ["step"], ["loadCache", {"path": "a"}], ["saveCapture", {"path": "b"}],
                  ["startCapture", {"path": "c"}], ["saveCache", {"path": "a", "form": "hf_dynamic"}], ["loadCache", {"path": "a"}], ["stopCapture"]],
        "chunks": [["prefill", {"ids": [5, 6], "last": False}], ["endPrefill"], ["fault", {"kind": "kernel", "n": 1}], ["invariants"], ["bytes"]],
    }
    wlod = [["promptIds", {"ids": [3 + i % 250 for i in range(300)]}], ["tree"], ["expand", {"node": 1, "now": True}], ["refocus", {"rounds": 2}],
            ["step", {"n": 5}], ["collapse", {"node": 1, "now": True}], ["speculate", {"tokens": [5, 6]}], ["step"], ["rollback"], ["speculate", {"tokens": [7]}],
            ["accept"], ["inject", {"actions": [{"action": "replace", "positions": [40], "new_token_ids": [9]}, {"action": "expand", "node": 129}]}], ["apply"],
            ["setLensScores", {"scores": [0.5]}], ["inject", {"actions": [{"action": "delete", "position": 60}]}], ["apply"], ["drift"], ["rebuild"], ["undo"], ["goto", {"tick": 2}]]
    line = lambda call: json.dumps(call, separators=(",", ":")).encode()  # noqa: E731
    seeds = {f"{name}-{which}": bytes([which]) + b"\n".join(map(line, [prompt] + lines))
             for name, lines in calls.items() for which in (0, 4, 8, 15, 21, 29, 37)}
    return seeds | {f"wlod-{which}": bytes([which]) + b"\n".join(map(line, wlod)) for which in (36, 37, 38, 39)}


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """A field of a protocol buffer: bytes, an integer or a float."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3) + varint(value)


def sentencepiece_seeds():
    """sentencepiece_model.proto: pieces (1), trainer (2) with model type (3), normaliser (3) with character map (2)."""
    def piece(text, score, kind=1):
        return field(1, field(1, text.encode()) + field(2, score) + (field(3, kind) if kind != 1 else b""))
    special = piece("<unk>", 0.0, 2) + piece("<s>", 0.0, 3) + piece("</s>", 0.0, 3)
    words = [piece(t, -float(i)) for i, t in enumerate(("\u2581the", "\u2581", "th", "e", "t", "h", "key", "k", "\u00e9"))]
    byte_pieces = b"".join(piece(f"<0x{i:02X}>", 0.0, 6) for i in range(256))
    texts = b"\x07the k\xc3\xa9"
    seeds = {}
    for name, kind in (("unigram", 1), ("bpe", 2), ("word", 3), ("char", 4)):
        seeds[name] = texts + special + b"".join(words) + field(2, field(3, kind)) + field(3, field(1, b"identity"))
    seeds["bytes"] = texts + special + byte_pieces + b"".join(words) + field(2, field(3, 2) + field(35, 1))
    seeds["user_defined"] = texts + special + piece("the", 0.0, 4) + piece("zz", 0.0, 5) + b"".join(words) + field(2, field(3, 1))
    seeds["no_pieces"] = texts + field(2, field(3, 1))
    seeds["twice"] = texts + special + words[0] + words[0] + field(2, field(3, 1))
    seeds["treat_as_suffix"] = texts + special + b"".join(words) + field(2, field(3, 2) + field(24, 1))
    # A double array that maps "h" to "H": the root's label leads to a leaf, whose value is an offset into the texts.
    units = [0] * 512
    units[0] = 256 << 10
    units[256 ^ ord("h")] = ord("h") | 0x100 | (256 ^ ord("h") ^ 300) << 10
    units[300] = 0x80000000
    array = struct.pack("<512I", *units)
    charsmap = struct.pack("<I", len(array)) + array + b"H\0"
    for name, more in (("charsmap", b""), ("charsmap_cut", b"\0")):
        body = charsmap if not more else charsmap[:-2] + b"H"
        seeds[name] = texts + special + b"".join(words) + field(2, field(3, 1)) + field(3, field(2, body))
    whole = (ORACLE / "tokenizers" / "sentencepiece" / "tokenizer.model").read_bytes()
    return seeds | {"trained": texts + whole}


def strings(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


def write(out, name, seeds):
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    words = set()
    for label, data in seeds.items():
        (folder / label).write_bytes(data)
        data = data[1:] if name in ("cache", "capture", "model_files", "foreign") else data
        if name == "verbs":
            data = b"[" + data[1:].replace(b"\n", b",") + b"]"
        framed = name in ("safetensors", "cache")
        text = data[8:8 + struct.unpack("<Q", data[:8])[0]] if framed else data.split(b"\0")[0]
        if name in ("gguf", "chat_template"):  # names of keys, of tags and filters
            words |= {w.decode() for w in re.findall(rb"[a-z][a-z0-9_.-]{2,39}", data)}
        if name in ("gguf", "chat_template", "sentencepiece") or not text.startswith((b"{", b"[")):
            continue
        words |= {w for w in strings(json.loads(text)) if 2 < len(w) < 40 and w.isascii() and w.isprintable()}
    lines = ['"' + "".join(c if c.isalnum() or c in "_ " else f"\\x{ord(c):02x}" for c in w) + '"' for w in sorted(words)]
    (out / f"{name}.dict").write_text("\n".join(lines[:400]) + "\n")


def gguf_text(text):
    return struct.pack("<Q", len(text)) + text.encode()


def gguf_file(arch, keys=(), tensors=()):
    """One layer of 8 tokens, hidden 8; keys: (name, kind, bytes) and tensors: (name, dimensions, values) besides."""
    sizes = {"block_count": 1, "context_length": 32, "embedding_length": 8, "feed_forward_length": 8,
             "attention.head_count": 2, "attention.head_count_kv": 2}
    keys = [("general.architecture", 8, gguf_text(arch)), *((f"{arch}.{k}", 4, struct.pack("<I", v)) for k, v in sizes.items()),
            *keys]
    parts = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
    tensors = [("token_embd", [8, 8]), ("output_norm", [8]), ("blk.0.attn_norm", [8]), ("blk.0.ffn_norm", [8]),
               *((f"blk.0.{part}", [8, 8]) for part in parts), *tensors]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for name, kind, value in keys:
        head += gguf_text(name) + struct.pack("<I", kind) + value
    data = b""
    for name, dims in tensors:
        values = dims[0] * (dims[1] if len(dims) > 1 else 1)
        head += gguf_text(name + ".weight") + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, 0, len(data))
        data += struct.pack("<f", 0.5) * values
        data += bytes(-len(data) % 32)
    return head + bytes(-len(head) % 32) + data


def gguf_seeds():
    real = lambda value: (6, struct.pack("<f", value))  # noqa: E731
    whole = lambda value: (4, struct.pack("<I", value))  # noqa: E731
    seeds = {arch: gguf_file(arch) for arch in ("llama", "gemma2", "gemma3", "phi3", "qwen2", "qwen3", "qwen3moe", "olmo2",
                                                 "smollm3", "gpt-oss", "mistral3")}
    yarn = {"type": (8, gguf_text("yarn")), "factor": real(4), "original_context_length": whole(16), "yarn_beta_fast": real(32),
            "yarn_beta_slow": real(1), "yarn_attn_factor": real(1.2), "yarn_log_multiplier": real(1)}
    seeds["yarn"] = gguf_file("llama", [(f"llama.rope.scaling.{k}", *v) for k, v in yarn.items()])
    seeds["factors"] = gguf_file("llama", tensors=[("rope_freqs", [2])])
    seeds["longrope"] = gguf_file("phi3", [("phi3.rope.dimension_count", *whole(4))],
                                  [("rope_factors_long", [2]), ("rope_factors_short", [2])])
    seeds["windows"] = gguf_file("gemma3", [("gemma3.attention.sliding_window", *whole(8)),
                                            ("gemma3.attention.sliding_window_pattern", 9, struct.pack("<IQB", 7, 1, 1)),
                                            ("gemma3.rope.freq_base_swa", *real(1e4))])
    seeds["experts"] = gguf_file("qwen3moe", [("qwen3moe.expert_count", *whole(2)), ("qwen3moe.expert_used_count", *whole(1)),
                                              ("qwen3moe.expert_feed_forward_length", *whole(8))])
    texts = lambda *items: struct.pack("<IQ", 8, len(items)) + b"".join(map(gguf_text, items))  # noqa: E731
    ids = {f"{name}_token_id": whole(i) for i, name in enumerate(("unknown", "bos", "eos", "eot"))}
    shared = {**ids, "tokens": (9, texts("<unk>", "<s>", "</s>", "<|im_end|>", "a", "b", "ab", "<0x0A>")),
              "token_type": (9, struct.pack("<IQ8i", 5, 8, 2, 3, 3, 3, 1, 1, 1, 6)), "add_bos_token": (7, b"\1")}
    for model, more in (("llama", {"scores": (9, struct.pack("<IQ8f", 6, 8, *[-i for i in range(8)]))}),
                        ("gpt2", {"merges": (9, texts("a b")), "pre": (8, gguf_text("smollm"))})):
        keys = {**shared, "model": (8, gguf_text(model)), **more}
        seeds[f"tokens-{model}"] = gguf_file("llama", [(f"tokenizer.ggml.{k}", *v) for k, v in keys.items()])
    split = [("split.no", 2, b"\0\0"), ("split.count", 2, b"\1\0"), ("split.tensors.count", 5, struct.pack("<i", 11))]
    seeds["split"] = gguf_file("llama", [*split, ("general.alignment", *whole(32))])
    return seeds


def stored_zip(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def torch_zip(pickle_of, storages):
    """pickle_of(tensor): tensor(key, values, *shape) is the pickle of a tensor of a storage."""
    short = lambda text: b"X" + struct.pack("<I", len(text)) + text.encode()  # noqa: E731
    ints = lambda numbers: b"(" + b"".join(b"K" + bytes([n]) for n in numbers) + b"t"  # noqa: E731

    def tensor(key, values, *shape):
        strides = [1]
        for n in reversed(shape[1:]):
            strides.insert(0, strides[0] * n)
        place = b"(" + short("storage") + b"ctorch\nFloatStorage\n" + short(key) + short("cpu") + b"K" + bytes([values]) + b"tQ"
        return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + place + b"K\0" + ints(shape) + ints(strides) +
                b"\x89ccollections\nOrderedDict\n)RtR")
    return stored_zip({"a/data.pkl": b"\x80\2" + pickle_of(tensor, short) + b".", "a/byteorder": b"little",
                       **{f"a/data/{k}": v for k, v in storages.items()}})


def foreign_seeds():
    """The first byte chooses the importer, in the order of core/foreign/importers.cpp."""
    rows = struct.pack("<24f", *range(24))
    tensors = lambda shape, *names: safetensors({n: ("F32", shape, rows) for n in names}, {})  # noqa: E731
    cells = struct.pack("<II", 1, 3) + b"".join(struct.pack("<iIi", i, 1, 0) for i in range(3))
    tensor = struct.pack("<iQ", 0, 32) + rows
    part = cells + struct.pack("<II", 0, 1) + tensor + tensor
    front = b"qsgg" + struct.pack("<II3i", 3, 3, 5, 6, 7)
    recurrent = struct.pack("<IiIII", 1, 2, 0, 0, 1) + struct.pack("<iQ", 0, 4) + bytes(4)
    columns = struct.pack("<iII", 0, 4, 8) + rows
    session = b"nsgg" + struct.pack("<III", 9, 0, 5) + b"llama"
    seeds = {"llama": b"\0" + front + part, "llama_parts": b"\0" + front + part + part,
             "llama_recurrent": b"\0" + front + part + recurrent, "llama_session": b"\0" + session + part,
             "llama_turned": b"\0" + b"qsgg" + struct.pack("<II3i", 4, 3, 5, 6, 7) + cells +
             struct.pack("<IIII", 0, 1, 64, 64) + tensor + tensor,
             "llama_columns": b"\0" + front + cells + struct.pack("<II", 1, 1) + tensor + columns,
             "vllm": b"\1" + tensors([3, 2, 4], "kv_cache"), "edge": b"\3" + tensors([1, 2, 1, 3, 4], "round_0.layer_0.kv"),
             "pairs": b"\4" + tensors([1, 2, 3, 4], "layers.0.keys", "layers.0.values")}
    number = ("I32", [], struct.pack("<i", 3))
    cache = {"0.0": ("F32", [1, 2, 3, 4], rows), "0.1": ("F32", [1, 2, 3, 4], rows)}
    for name in ("KVCache", "RotatingKVCache", "QuantizedKVCache"):
        header = {"__metadata__": {"1.0": name, "2.0": ""}}
        data, at = b"", 0
        for key, (kind, shape, value) in {**cache, **{f"0.{n}": number for n in range(2, 6)}}.items():
            header[key] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(value)]}
            data, at = data + value, at + len(value)
        text = json.dumps(header).encode()
        seeds[f"mlx_{name}"] = b"\2" + struct.pack("<Q", len(text)) + text + data
    layer = lambda t, s: (b"ctransformers.cache_utils\nDynamicLayer\n)\x81}(" + s("keys") + t("0", 24, 1, 2, 3, 4) +  # noqa: E731
                          s("values") + t("1", 24, 1, 2, 3, 4) + b"ub")
    seeds["torch"] = b"\4" + torch_zip(lambda t, s: b"}(" + s("layers") + b"](" + layer(t, s) + b"eu", {"0": rows, "1": rows})
    dump = lambda t, s: (b"}(" + s("value") + t("0", 24, 3, 2, 4) + s("meta") + b"}(" + s("name") + s("k") +  # noqa: E731
                         s("layer_id") + b"K\0uu")
    seeds["sglang"] = b"\5" + torch_zip(dump, {"0": rows})
    seeds["lmcache"] = b"\6" + struct.pack("<7i", 96, 1, 4, 2, 1, 3, 4) + rows
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }\n"
    array = b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + rows
    seeds["npz"] = b"\7" + stored_zip({"layers.0.keys.npy": array, "layers.0.values.npy": array})
    seeds["raw"] = b"\7" + rows
    return seeds


def chat_seeds():
    """Each family's template with a conversation, and what the expressions hold."""
    families = json.loads((ORACLE / "chat" / "families.json").read_text())
    seeds = {name: family["template"].encode() + b"\0" + json.dumps(family["cases"][0]["messages"]).encode()
             for name, family in families.items()}
    expressions = [entry["source"] for entry in json.loads((ORACLE / "chat" / "expressions.json").read_text())]
    return seeds | {f"lines{n}": "\n".join(expressions[n::12]).encode() for n in range(12)}


def main(out):
    models, tokenizers = sorted((ORACLE / "models").iterdir()), sorted((ORACLE / "tokenizers").iterdir())
    models = [m for m in models if m.is_dir()]
    write(out, "safetensors", {f"{m.name}-{f.name}": small_safetensors(f) for m in models for f in m.glob("*.safetensors")})
    configs = {m.name: (m / "config.json").read_bytes() for m in models}
    write(out, "config", configs | config_seeds(next(iter(configs.values()))))
    files = [t / "tokenizer.json" for t in tokenizers if (t / "tokenizer.json").is_file()]
    write(out, "tokenizer_json", {f.parent.name: small_tokenizer(f) + b"\0he the <s>  x\xc3\xa9 12 door" for f in files}
          | tokenizer_step_seeds(small_tokenizer(files[-1])))
    write(out, "gguf", gguf_seeds())
    write(out, "foreign", foreign_seeds())
    write(out, "chat_template", chat_seeds())
    write(out, "action", {a["action"]: json.dumps([a]).encode() for a in ACTIONS} | {"all": json.dumps(ACTIONS).encode()})
    write(out, "expression", {str(i): text.encode() for i, text in enumerate(EXPRESSIONS)})
    write(out, "cache", cache_seeds())
    write(out, "capture", capture_seeds())
    write(out, "model_files", model_file_seeds())
    write(out, "sentencepiece", sentencepiece_seeds())
    write(out, "verbs", verb_seeds())
    write(out, "manifest", {"whole": json.dumps(MANIFEST).encode(), "empty": b"{}"} |
          {key: json.dumps({key: value}).encode() for key, value in MANIFEST.items()})


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: seeds.py FOLDER: writes one folder of seeds and a dictionary for each target")
    main(pathlib.Path(sys.argv[1]))
