# SPDX-License-Identifier: Apache-2.0
"""The rows that presses of kvpress leave whose rules kvlab does not have, as kvpress itself runs them.

    python press_rows.py           write kept_rows/press_rows.json and the manifest (transformers below 5.3)
    python press_rows.py --check   ask kvpress again

press_rows.json: [{model, ids, press, kept}]: a folder of models/ or "demo"; press is a name of PRESSES; kept has a text
of ranges ("0-3,9") for each layer and KV head.
"""
import json
import random
import sys

import torch
import transformers
from kvpress import (AdaKVPress, BlockPress, CapPress, ChunkKVPress, ChunkPress, CompactorPress, ComposedPress,
                     CriticalAdaKVPress, CriticalKVPress, CURPress, DMSPress, EntropyGatedChunkKVPress,
                     ExpectedAttentionPress, KeyDiffPress, KnormPress, KVComposePress, LagKVPress, LeverageScorePress,
                     NonCausalAttnPress, PerLayerCompressionPress, SimLayerKVPress, SnapKVPress)

import manifest
from kvpress_rows import OUT, folder_of, model_of, ranges

PRESSES = {
    "lagkv": lambda: LagKVPress(0.5, lag_size=8),
    "leverage": lambda: LeverageScorePress(0.5, sketch_dimension=8),
    "non_causal": lambda: NonCausalAttnPress(0.5, chunk_size=16),
    "compactor": lambda: CompactorPress(0.5),
    "cur": lambda: CURPress(0.5),
    "cap": lambda: CapPress(0.5),
    "chunk": lambda: ChunkPress(KnormPress(0.5), chunk_length=16),
    "chunkkv": lambda: ChunkKVPress(SnapKVPress(0.5, window_size=4), chunk_length=5),
    "entropy_gated_chunkkv": lambda: EntropyGatedChunkKVPress(SnapKVPress(0.5, window_size=4), chunk_length=5),
    "block": lambda: BlockPress(KeyDiffPress(0.5), block_size=8),
    "criticalkv": lambda: CriticalKVPress(ExpectedAttentionPress(0.5)),
    "critical_adakv": lambda: CriticalAdaKVPress(ExpectedAttentionPress(0.5)),
    "adakv_lagkv": lambda: AdaKVPress(LagKVPress(0.5, lag_size=8, cross_scoring=True)),
    "dms": lambda: DMSPress(LagKVPress(lag_size=8), threshold=0.5, sliding_window_size=8),
    "simlayerkv": lambda: SimLayerKVPress(lazy_threshold=0.3, n_recent=16, n_initial=2),
    "per_layer": lambda: PerLayerCompressionPress(KnormPress(0.5), [0.2, 0.7, 0.4, 0.9] * 8),
    "composed": lambda: ComposedPress([KnormPress(0.3), KeyDiffPress(0.4)]),
    "kvcompose": lambda: KVComposePress(compression_ratio=0.5),
}
MODELS = ("llama_tied_f32", "qwen3_f32", "demo")


def drawn(name):
    """A press, with the draws of those that draw."""
    torch.manual_seed(11)
    return PRESSES[name]()


def eager(name):
    """The press reads attention that the model computes."""
    return name == "kvcompose"


def left(model, ids, press):
    """[layers][KV heads] of the rows of a plain pass that stand in a press's cache and that it has not marked."""
    plain, cache = transformers.DynamicCache(), transformers.DynamicCache()
    with torch.no_grad():
        model.model(input_ids=torch.tensor([ids]), past_key_values=plain)
        with press(model):
            model.model(input_ids=torch.tensor([ids]), past_key_values=cache)
    out = []
    for number, (before, after) in enumerate(zip(plain.layers, cache.layers)):
        module, heads = model.model.layers[number].self_attn, []
        marked = getattr(module, "masked_key_indices", None)
        module.masked_key_indices = None
        for head in range(before.keys.shape[1]):
            same = (after.keys[0, head][:, None] == before.keys[0, head][None]).all(-1)
            assert (same.sum(1) == 1).all()
            rows = same.int().argmax(1).tolist()
            gone = [] if marked is None else marked[2][marked[1] == head].tolist()
            heads.append({row for place, row in enumerate(rows) if place not in gone})
        out.append(heads)
    return out


def committed():
    for name in MODELS:
        for number, press in enumerate(PRESSES):
            model = model_of(str(folder_of(name)), "eager" if eager(press) else "sdpa")
            ids = random.Random(number).sample(range(3, model.config.vocab_size), 60)  # two of a token would tie
            kept = left(model, ids, drawn(press))
            kept = [[ranges(rows) for rows in heads] for heads in kept]
            yield {"model": name, "ids": ids, "press": press, "kept": kept}


def main():
    found = list(committed())
    if "--check" not in sys.argv:
        lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in found)
        (OUT / "press_rows.json").write_text(f"[\n{lines}\n]\n")
        from importlib.metadata import version
        manifest.write(OUT, {name: version(name) for name in ("kvpress", "torch", "transformers")})
        return 0
    bad = manifest.differences(OUT)
    wanted = json.loads((OUT / "press_rows.json").read_text())
    bad += [f"{one['model']} {one['press']}" for one, again in zip(wanted, found, strict=True) if one != again]
    print("\n".join(bad) or f"{len(wanted)} cases as kvpress has them")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
