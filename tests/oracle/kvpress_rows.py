# SPDX-License-Identifier: Apache-2.0
"""The rows that kvpress and the rules of other_presses.py keep, beside the kvlab preset that names each.

    python kvpress_rows.py           write kept_rows/kept_rows.json and its MANIFEST.json
    python kvpress_rows.py --check   verify hashes, ask kvpress again; rows may differ where scores tie

kept_rows.json: [{model, ids, policy, kept, ties}]: model is a folder of models/ or "demo"; policy is what kvlab is given;
kept has a text of ranges ("0-3,9") for each layer and KV head; ties ({"LAYER.HEAD": ranges}) are the rows whose score is
as near to the last one kept as rounding is.
"""
import functools
import json
import math
import sys
from pathlib import Path

import torch
import transformers
from kvpress import (AdaKVPress, ExpectedAttentionPress, KeyDiffPress, KnormPress, ObservedAttentionPress, PyramidKVPress,
                     SnapKVPress, StreamingLLMPress, TOVAPress)

import manifest
from other_presses import HeavyPress, MaximumPress, MixedPress, NewestPress

transformers.utils.logging.disable_progress_bar()
HERE = Path(__file__).resolve().parent
OUT = HERE / "kept_rows"
MODELS = ("llama_tied_f32", "llama_untied_f32", "qwen2_tied_f32", "qwen3_f32", "llama_yarn_bf16", "demo")
LENGTHS = (60, 37, 23, 101)
RATIOS = (0.25, 0.5, 0.75)  # share of rows that stay
NEAR = 2e-5  # relative tolerance of a score: rounding of float32 through a softmax

# name of the preset, keys beside it, the press of a compression ratio; windows are shorter than every prompt
PRESSES = [
    ("snapkv:kvpress", {"window": 8}, lambda c: SnapKVPress(c, window_size=8)),
    ("snapkv:kvpress", {"window": 5, "kernel": 1}, lambda c: SnapKVPress(c, window_size=5, kernel_size=1)),
    ("snapkv:kvpress", {"window": 16, "kernel": 7}, lambda c: SnapKVPress(c, window_size=16, kernel_size=7)),
    ("pyramidkv:kvpress", {"window": 4}, lambda c: PyramidKVPress(c, window_size=4)),
    ("pyramidkv:kvpress", {"window": 8, "kernel": 3, "beta": 4},
     lambda c: PyramidKVPress(c, window_size=8, kernel_size=3, beta=4)),
    ("adakv:kvpress", {"window": 8}, lambda c: AdaKVPress(SnapKVPress(c, window_size=8))),
    ("adakv:kvpress", {"window": 3, "kernel": 3, "alpha": 0.8},
     lambda c: AdaKVPress(SnapKVPress(c, window_size=3, kernel_size=3), 0.8)),
    ("adakv:kvpress", {"window": 4, "alpha": 0}, lambda c: AdaKVPress(SnapKVPress(c, window_size=4), 0)),
    ("expected_attention:class", {}, ExpectedAttentionPress),
    ("expected_attention:class", {"sinks": 2, "future": 16},
     lambda c: ExpectedAttentionPress(c, n_sink=2, n_future_positions=16)),
    ("expected_attention:registry", {}, lambda c: ExpectedAttentionPress(c, epsilon=0.01)),
    ("expected_attention:adakv", {}, lambda c: AdaKVPress(ExpectedAttentionPress(c, epsilon=0.01))),
    ("tova:kvpress", {}, TOVAPress),
    ("h2o:kvpress", {}, ObservedAttentionPress),
    ("knorm:default", {}, KnormPress),
    ("keydiff:default", {}, KeyDiffPress),
    ("streaming_llm:class", {}, StreamingLLMPress),
    ("snapkv:repo", {"window": 4}, lambda c: SnapKVPress(c, window_size=4)),
    ("snapkv:adakv", {"window": 4}, lambda c: MaximumPress(c, window_size=4)),
    ("adakv:repo", {"window": 4}, lambda c: MixedPress(MaximumPress(c, window_size=4), 0.2)),
    ("adakv:readme", {"window": 5, "kernel": 1}, lambda c: MixedPress(MaximumPress(c, window_size=5, kernel_size=1), 0.5)),
    ("h2o:class", {}, HeavyPress),
    ("tova:paper", {}, NewestPress),
]
REAL = [("snapkv:kvpress", {}, SnapKVPress), ("pyramidkv:kvpress", {}, PyramidKVPress),
        ("adakv:kvpress", {}, lambda c: AdaKVPress(SnapKVPress(c)))] + [one for one in PRESSES[8:17] if not one[1]]


def ranges(rows):
    out = []
    for row in sorted(rows):
        if out and out[-1][1] == row - 1:
            out[-1][1] = row
        else:
            out.append([row, row])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def rows_of(text):
    parts = [part.split("-") for part in text.split(",") if part]
    return {row for part in parts for row in range(int(part[0]), int(part[-1]) + 1)}


def prompt(length, seed, vocabulary):
    """As many ids as wanted, none of them special."""
    out = []
    for _ in range(length):
        seed = (seed * 1664525 + 1013904223) % 2 ** 32
        out.append(3 + (seed >> 8) % (vocabulary - 3))
    return out


@functools.cache
def model_of(folder, attention):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                             attn_implementation=attention).eval()


def remember(press, seen):
    """Lets a press write the scores of each layer into seen, [layers][KV heads, rows]."""
    scored = press.press if isinstance(press, AdaKVPress) else press
    score = scored.score

    def wrapped(*given):
        seen.append(score(*given))
        return seen[-1].clone()

    scored.score = wrapped
    return press


def kept(model, ids, press):
    """[layers][KV heads] of (rows that stay, rows that tie)."""
    seen, cache = [], transformers.DynamicCache()
    with torch.no_grad(), remember(press, seen)(model):
        model(torch.tensor([ids]), past_key_values=cache)
    out = []
    for layer, scores in enumerate(seen):
        attention = model.model.layers[layer].self_attn
        if isinstance(press, AdaKVPress):
            stay = [set(range(len(ids))) for _ in scores[0]]
            for head, row in zip(*(indices.tolist() for indices in attention.masked_key_indices[1:])):
                stay[head].discard(row)
            attention.masked_key_indices = None
        else:
            count = cache.layers[layer].keys.shape[2]
            stay = [set(one.topk(count).indices.tolist()) for one in scores[0]]
        out.append(with_ties(scores[0], stay, isinstance(press, AdaKVPress)))
    return out


def tied(scores, stay, heads):
    """Rows of some heads as near to their common border as rounding is, none if the border is clear. Rows that a head
    keeps for sure may score below the best one that leaves: they are no part of the border."""
    out = max((scores[h][row].item() for h in heads for row in range(len(scores[h])) if row not in stay[h]),
              default=math.inf)
    last = min((s for h in heads for s in scores[h][sorted(stay[h])].tolist() if s >= out), default=math.inf)
    clear = not math.isfinite(last) or last - out > NEAR * abs(last)
    return {} if clear else {h: {row for row, s in enumerate(scores[h].tolist())
                                 if min(abs(s - last), abs(s - out)) <= NEAR * abs(last)} for h in heads}


def with_ties(scores, stay, together):
    """Adds the rows that tie to those of each head: at its own border and, where heads compete, at that of all."""
    every = range(len(scores))
    ties = [tied(scores, stay, [head]).get(head, set()) for head in every]
    if together:
        ties = [own | tied(scores, stay, every).get(head, set()) for head, own in enumerate(ties)]
    return list(zip(stay, ties))


def folder_of(name):
    return HERE.parents[1] / "resources/demo" if name == "demo" else HERE / "models" / name


def policy_of(preset, keys, ratio):
    name, preset = preset.split(":")
    return {"name": name, "preset": preset, **keys, "ratio": ratio}


def case(name, model, ids, press, ratio):
    """model: gives the model for a kind of attention."""
    preset, keys, make = press
    press = make(1 - ratio)
    layers = kept(model("eager" if isinstance(press, ObservedAttentionPress) else "sdpa"), ids, press)
    ties = {f"{layer}.{head}": ranges(near) for layer, heads in enumerate(layers)
            for head, (_, near) in enumerate(heads) if near}
    return {"model": name, "ids": ids, "policy": policy_of(preset, keys, ratio),
            "kept": [[ranges(rows) for rows, _ in heads] for heads in layers], "ties": ties}


def fixture(name, length, press, ratio, seed):
    model = functools.partial(model_of, str(folder_of(name)))
    return case(name, model, prompt(length, seed, model("sdpa").config.vocab_size), press, ratio)


def committed():
    """Every press with every model and every ratio; the lengths take turns."""
    out, turn = [], 0
    for name in MODELS:
        for press in PRESSES:
            for ratio in RATIOS:
                out.append(fixture(name, LENGTHS[turn % len(LENGTHS)], press, ratio, turn + 1))
                turn += 1
            turn += 1
    return out


def differences(wanted, found):
    """Lists whose rows differ, those that only ties tell apart, and all lists."""
    bad, tied, lists = [], 0, 0
    for at, (layer_wanted, layer_found) in enumerate(zip(wanted["kept"], found)):
        for head, (one, other) in enumerate(zip(layer_wanted, layer_found)):
            lists += 1
            apart = rows_of(one) ^ rows_of(other)
            near = rows_of(wanted["ties"].get(f"{at}.{head}", ""))
            if apart and apart <= near:
                tied += 1
            elif apart:
                bad.append(f"{wanted['model']} {json.dumps(wanted['policy'])} {len(wanted['ids'])} ids, layer {at} head "
                           f"{head}: {one} against {other}")
    return bad, tied, lists


def main():
    if "--check" not in sys.argv:
        OUT.mkdir(exist_ok=True)
        (OUT / "kept_rows.json").write_text(
            "[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in committed()) + "\n]\n")
        from importlib.metadata import version
        manifest.write(OUT, {name: version(name) for name in ("kvpress", "torch", "transformers")})
        return 0
    bad = manifest.differences(OUT)
    wanted = json.loads((OUT / "kept_rows.json").read_text())
    for one, again in zip(wanted, committed(), strict=True):
        bad += differences(one, again["kept"])[0]
    print("\n".join(bad) or f"{len(wanted)} cases as kvpress has them")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
