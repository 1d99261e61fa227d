# SPDX-License-Identifier: Apache-2.0
"""The Hugging Face side of a round trip: save a cache here, edit it in kvlab, continue here.

    python hf_roundtrip.py make DIR CACHE [--ids '[1, 5, ...]'] [--form hf_dynamic|hf_tuple] [--dtype float32]
    python hf_roundtrip.py continue DIR CACHE N [--dtype float32]

DIR is a Hugging Face model directory. `make` runs the prompt (without --ids: input_ids of DIR/golden.safetensors)
and writes its cache. `continue` loads a cache, drops its last row, feeds the last token again at its position and
decodes greedily. Both print one JSON object; `continue` gives
    input_ids, position_ids   what the file holds
    continued                 N ids chosen on top of the cache of the file, whose layers may differ in length
    fresh                     N ids chosen by full forward passes over the same ids at the same positions
    logits_difference         largest |cached - fresh| of the first choice's logits, over the largest |fresh|
"""
import argparse
import json
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "resources" / "python"))
from kvlab_cache import load_cache, save_cache, to_dynamic_cache, to_legacy  # noqa: E402


def load_model(directory, dtype):
    release = tuple(int(part) for part in transformers.__version__.split(".")[:2])
    keyword = "dtype" if release >= (4, 56) else "torch_dtype"
    return transformers.AutoModelForCausalLM.from_pretrained(
        directory, attn_implementation="eager", **{keyword: getattr(torch, dtype)}).eval()


def make(options):
    golden = options.dir / "golden.safetensors"
    ids = json.loads(options.ids) if options.ids else load_file(golden)["input_ids"].tolist()
    model = load_model(options.dir, options.dtype)
    cache = transformers.DynamicCache()
    model(input_ids=torch.tensor([ids]), past_key_values=cache, use_cache=True)
    layers = to_legacy(cache) if options.form == "hf_tuple" else cache
    save_cache(options.cache, layers, ids, model.config, form=options.form)
    return {"saved": options.cache.name, "rows": len(ids), "form": options.form}


def forward(model, tokens, positions, cache):
    """Last logits. The mask of ones says that gaps between positions do not separate sequences."""
    seen = cache.get_seq_length() + len(tokens)
    out = model(input_ids=torch.tensor([tokens]), position_ids=torch.tensor([positions]), past_key_values=cache,
                attention_mask=torch.ones(1, seen, dtype=torch.int64), use_cache=True)
    return out.logits[0, -1].float()


def decode_cached(model, layers, ids, positions, count):
    """Greedy ids on top of all rows but the last, whose token is fed again; and the first logits."""
    kept = tuple((key[:, :, :-1], value[:, :, :-1]) for key, value in layers)
    cache = to_dynamic_cache(kept) if len(ids) > 1 else transformers.DynamicCache()
    logits = first = forward(model, ids[-1:], positions[-1:], cache)
    chosen = []
    for step in range(count):
        chosen.append(int(logits.argmax()))
        logits = forward(model, chosen[-1:], [positions[-1] + 1 + step], cache)
    return chosen, first


def decode_fresh(model, ids, positions, count):
    """The same without any cache: a full forward pass for every token."""
    tokens, places, first = list(ids), list(positions), None
    for _ in range(count):
        logits = forward(model, tokens, places, transformers.DynamicCache())
        first = logits if first is None else first
        tokens.append(int(logits.argmax()))
        places.append(places[-1] + 1)
    return tokens[len(ids):], first


def decode_ragged(model, layers, ids, positions, count):
    """As decode_cached for layers of unequal length: one token at a time, which needs no mask."""
    cache = to_dynamic_cache(tuple((key[:, :, :-1], value[:, :, :-1]) for key, value in layers))
    model.set_attn_implementation("sdpa")
    chosen = []
    for step in range(count):
        token = chosen[-1] if chosen else ids[-1]
        out = model(input_ids=torch.tensor([[token]]), position_ids=torch.tensor([[positions[-1] + step]]),
                    past_key_values=cache, use_cache=True)
        chosen.append(int(out.logits[0, -1].argmax()))
    return chosen


def resume(options):
    cache, ids, manifest = load_cache(options.cache)
    ids, positions = ids[0].tolist(), manifest["position_ids"]
    model = load_model(options.dir, options.dtype)
    dtype = getattr(torch, options.dtype)
    layers = tuple((key.to(dtype), value.to(dtype)) for key, value in to_legacy(cache))
    if "rows" in manifest:
        return {"input_ids": ids, "position_ids": positions, "rows": [len(one) for one in manifest["rows"]],
                "continued": decode_ragged(model, layers, ids, positions, options.count)}
    continued, cached_logits = decode_cached(model, layers, ids, positions, options.count)
    fresh, fresh_logits = decode_fresh(model, ids, positions, options.count)
    difference = (cached_logits - fresh_logits).abs().max() / fresh_logits.abs().max()
    return {"input_ids": ids, "position_ids": positions, "continued": continued, "fresh": fresh,
            "logits_difference": float(difference)}


def answer(arguments):
    """The object of one command, given as its words."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("make", "continue"):
        sub = verbs.add_parser(verb)
        sub.add_argument("dir", type=Path)
        sub.add_argument("cache", type=Path)
        sub.add_argument("--dtype", default="float32", choices=["float32", "float16", "bfloat16"])
        if verb == "continue":
            sub.add_argument("count", type=int)
        else:
            sub.add_argument("--ids")
            sub.add_argument("--form", default="hf_dynamic", choices=["hf_dynamic", "hf_tuple"])
    options = parser.parse_args([str(word) for word in arguments])
    if options.verb == "continue" and options.count < 1:
        parser.error("count must be at least 1")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    with torch.inference_mode():
        return make(options) if options.verb == "make" else resume(options)


def main():
    try:
        print(json.dumps(answer(sys.argv[1:])))
    except (ValueError, OSError) as error:
        print(f"hf_roundtrip: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
