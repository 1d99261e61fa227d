# SPDX-License-Identifier: Apache-2.0
"""Seeds and dictionaries for the fuzz targets, from the fixtures of tests/oracle.

usage: seeds.py OUT; writes OUT/NAME/* and OUT/NAME.dict. Fixtures are shrunk: a fuzzer gets further
with small inputs."""
import json
import pathlib
import struct
import sys

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
    "model": "synthetic:tiny", "backend": "cpu", "threads": 1, "dtype": "f32", "kv": {"k": "f16", "v": "bf16"},
    "key_phase": "on_read", "position": "absolute", "layout": "contiguous_splice", "policy": {"name": "full"},
    "capacity": 512, "staging": 8, "history_bytes": 1024, "executor": "descending", "after_edit": "selective",
    "absolute_overflow": "shift", "brightness": {"decay": 1.5, "gain": 9, "max": 255, "start": {"user": 200}, "target": 9,
                                                 "compressor": "nearest"},
    "sampling": {"temperature": 0.7, "top_k": 40, "top_p": 0.9, "repetition_penalty": 1.1, "seed": 5},
    "check": {"level": "full", "scrub_period": 32}, "probes": False,
}


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
        text = data[8:8 + struct.unpack("<Q", data[:8])[0]] if name == "safetensors" else data.split(b"\0")[0]
        words |= {w for w in strings(json.loads(text)) if 2 < len(w) < 40 and w.isascii() and w.isprintable()}
    lines = ['"' + "".join(c if c.isalnum() or c in "_ " else f"\\x{ord(c):02x}" for c in w) + '"' for w in sorted(words)]
    (out / f"{name}.dict").write_text("\n".join(lines[:400]) + "\n")


def main(out):
    models, tokenizers = sorted((ORACLE / "models").iterdir()), sorted((ORACLE / "tokenizers").iterdir())
    models = [m for m in models if m.is_dir()]
    write(out, "safetensors", {f"{m.name}-{f.name}": small_safetensors(f) for m in models for f in m.glob("*.safetensors")})
    write(out, "config", {m.name: (m / "config.json").read_bytes() for m in models})
    files = [t / "tokenizer.json" for t in tokenizers if (t / "tokenizer.json").is_file()]
    write(out, "tokenizer_json", {f.parent.name: small_tokenizer(f) + b"\0he the <s>  x\xc3\xa9 12 door" for f in files})
    write(out, "action", {a["action"]: json.dumps([a]).encode() for a in ACTIONS} | {"all": json.dumps(ACTIONS).encode()})
    write(out, "manifest", {"whole": json.dumps(MANIFEST).encode(), "empty": b"{}"} |
          {key: json.dumps({key: value}).encode() for key, value in MANIFEST.items()})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
