# SPDX-License-Identifier: Apache-2.0
"""A float64 NumPy forward pass, written apart from transformers: a second opinion on every golden.

    python forward_f64.py [DIR ...]            default: every directory of tests/oracle/models
    python forward_f64.py --markdown [DIR ...] the table of README.md

Needs NumPy only. Reads config.json in both styles and safetensors in f32, f16, bf16, sharded or not.
Prints, per fixture, max |a - b| / max |b| over each kind of tensor (a = transformers, b = float64) and
exits with 1 when a float32 golden is further away than TOLERANCE.
RoPE scaling: linear divides the frequencies; llama3 and yarn as published with Llama 3.1 and
arXiv:2309.00071 (NTK-by-parts), attention factor 0.1 ln(factor) + 1 unless the file gives one.
"""
import argparse
import json
import math
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("skipped: needs numpy")
    sys.exit(77)

TOLERANCE = 1e-5
HERE = Path(__file__).resolve().parent


def read_safetensors(path):
    """Name -> array; floats widened to float64, exactly."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        begin, end = (start + o for o in entry["data_offsets"])
        kind = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8"}[entry["dtype"]]
        flat = np.frombuffer(raw[begin:end], kind)
        if entry["dtype"] == "BF16":
            flat = (flat.astype(np.uint32) << 16).view(np.float32)
        flat = flat if entry["dtype"] == "I64" else flat.astype(np.float64)
        out[name] = flat.reshape(entry["shape"])
    return out


def read_weights(directory):
    index = directory / "model.safetensors.index.json"
    if not index.is_file():
        return read_safetensors(directory / "model.safetensors")
    files = set(json.loads(index.read_text())["weight_map"].values())
    return {name: value for file in files for name, value in read_safetensors(directory / file).items()}


def rope_settings(config):
    scaling = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    scaling["kind"] = scaling.get("rope_type", scaling.get("type", "default"))
    scaling["theta"] = scaling.get("rope_theta", config.get("rope_theta", 10000.0))
    return scaling


def llama3_frequencies(plain, scaling):
    original = scaling["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    turns = original * plain / (2 * math.pi)  # rotations within the original context
    blend = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return blend * plain + (1 - blend) * plain / scaling["factor"]


def yarn_frequencies(plain, scaling, dim):
    def pair_with(turns):
        length = scaling["original_max_position_embeddings"]
        return dim * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(scaling["theta"]))
    first = max(math.floor(pair_with(scaling.get("beta_fast", 32.0))), 0)
    last = min(math.ceil(pair_with(scaling.get("beta_slow", 1.0))), dim - 1)
    ramp = np.clip((np.arange(dim // 2) - first) / max(last - first, 0.001), 0.0, 1.0)
    return plain * (1 - ramp) + plain / scaling["factor"] * ramp


def rope_tables(config, dim, length):
    """cos and sin [length, dim / 2], the attention factor of yarn included."""
    scaling = rope_settings(config)
    freqs = scaling["theta"] ** (-np.arange(0, dim, 2) / dim)
    factor = 1.0
    if scaling["kind"] == "linear":
        freqs = freqs / scaling["factor"]
    elif scaling["kind"] == "llama3":
        freqs = llama3_frequencies(freqs, scaling)
    elif scaling["kind"] == "yarn":
        freqs = yarn_frequencies(freqs, scaling, dim)
        factor = scaling.get("attention_factor") or 0.1 * math.log(scaling["factor"]) + 1.0
    elif scaling["kind"] != "default":
        raise ValueError(f"RoPE type {scaling['kind']} is not covered")
    angles = np.arange(length)[:, None] * freqs[None, :]
    return np.cos(angles) * factor, np.sin(angles) * factor


def rotate(x, cos, sin):
    """x [heads, T, dim]; the halves of a head are the two coordinates of each pair."""
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def window_of(config, layer):
    """Number of keys a query sees, itself included, or None."""
    if config["model_type"] == "mistral":
        return config.get("sliding_window")
    if config.get("use_sliding_window") and layer >= config["max_window_layers"]:
        return config["sliding_window"]
    return None


class Model:
    def __init__(self, directory):
        self.config = json.loads((directory / "config.json").read_text())
        self.weights = read_weights(directory)
        self.heads = self.config["num_attention_heads"]
        self.kv_heads = self.config["num_key_value_heads"]
        self.dim = self.config.get("head_dim") or self.config["hidden_size"] // self.heads

    def linear(self, name, x):
        y = x @ self.weights[name + ".weight"].T
        return y + self.weights[name + ".bias"] if name + ".bias" in self.weights else y

    def norm(self, name, x):
        return rms_norm(x, self.weights[name + ".weight"], self.config["rms_norm_eps"])

    def project(self, at, x, which, heads):
        y = self.linear(f"{at}self_attn.{which}_proj", x).reshape(len(x), heads, self.dim)
        if f"{at}self_attn.{which}_norm.weight" in self.weights:
            y = self.norm(f"{at}self_attn.{which}_norm", y)
        return y.transpose(1, 0, 2)

    def attend(self, q, k, v, window):
        """q [heads, T, dim], k and v [kv_heads, T, dim] -> [T, heads * dim]."""
        group = self.heads // self.kv_heads
        scores = q @ np.repeat(k, group, axis=0).transpose(0, 2, 1) / math.sqrt(self.dim)
        age = np.arange(q.shape[1])[:, None] - np.arange(q.shape[1])[None, :]
        scores[:, (age < 0) | (age >= (window or len(age)))] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return (weights @ np.repeat(v, group, axis=0)).transpose(1, 0, 2).reshape(q.shape[1], -1)

    def layer(self, number, x, tables, out):
        at = f"model.layers.{number}."
        h = self.norm(at + "input_layernorm", x)
        q, k = self.project(at, h, "q", self.heads), self.project(at, h, "k", self.kv_heads)
        v = self.project(at, h, "v", self.kv_heads)
        out[f"k_unrotated.{number}"], out[f"k.{number}"], out[f"v.{number}"] = k, rotate(k, *tables), v
        mixed = self.attend(rotate(q, *tables), out[f"k.{number}"], v, window_of(self.config, number))
        x = x + self.linear(at + "self_attn.o_proj", mixed)
        h = self.norm(at + "post_attention_layernorm", x)
        gate = self.linear(at + "mlp.gate_proj", h)
        x = x + self.linear(at + "mlp.down_proj", gate / (1 + np.exp(-gate)) * self.linear(at + "mlp.up_proj", h))
        out[f"hidden.{number}"] = x
        return x

    def forward(self, ids):
        """Every tensor of a golden file that a float forward pass gives."""
        out, tables = {}, rope_tables(self.config, self.dim, len(ids))
        x = self.weights["model.embed_tokens.weight"][ids]
        for number in range(self.config["num_hidden_layers"]):
            x = self.layer(number, x, tables, out)
        head = "model.embed_tokens" if self.config["tie_word_embeddings"] else "lm_head"
        out["logits"] = self.linear(head, self.norm("model.norm", x))
        return out


def relative_error(a, b):
    return float(np.abs(a - b).max() / np.abs(b).max())


def compare(directory):
    """Kind of tensor -> largest relative error of transformers against float64, over the layers."""
    golden = read_safetensors(directory / "golden.safetensors")
    truth = Model(directory).forward(golden["input_ids"])
    errors = {}
    for name, value in truth.items():
        kind = name.split(".")[0]
        errors[kind] = max(errors.get(kind, 0.0), relative_error(golden[name], value))
    if "logits_native" in golden:
        errors["logits_native"] = relative_error(golden["logits_native"], truth["logits"])
    return errors


def covered(directory):
    """The families of llama, mistral, qwen2 and qwen3 without biases of the feed-forward and frequencies that change."""
    config = json.loads((directory / "config.json").read_text())
    return (config["model_type"] in ("llama", "mistral", "qwen2", "qwen3") and not config.get("mlp_bias") and
            rope_settings(config)["kind"] != "dynamic")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("directories", nargs="*", type=Path)
    options = parser.parse_args()
    directories = options.directories or sorted(
        f.parent for f in HERE.glob("models/*/config.json") if covered(f.parent))
    columns = ["logits", "hidden", "k_unrotated", "k", "v", "logits_native"]
    line = "| {} |" if options.markdown else "{}"
    join = (" | " if options.markdown else "  ").join
    print(line.format(join([f"{'fixture':24}"] + [f"{c:>13}" for c in columns])))
    if options.markdown:
        print("|" + " --- |" + " ---: |" * len(columns))
    worst = 0.0
    for directory in directories:
        errors = compare(directory)
        worst = max([worst] + [e for kind, e in errors.items() if kind != "logits_native"])
        cells = [f"{errors[c]:13.1e}" if c in errors else f"{'-':>13}" for c in columns]
        print(line.format(join([f"{directory.name:24}"] + cells)))
    if worst > TOLERANCE:
        print(f"worst float32 error {worst:.1e} exceeds {TOLERANCE:.0e}", file=sys.stderr)
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
