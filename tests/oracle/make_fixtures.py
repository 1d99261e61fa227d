# SPDX-License-Identifier: Apache-2.0
"""Writes tests/oracle/models: seeded random tiny checkpoints and what Hugging Face transformers computes from them.

    python make_fixtures.py            write every directory and MANIFEST.json
    python make_fixtures.py --check    verify hashes, regenerate elsewhere and compare

Each directory holds config.json, model.safetensors (or shards with an index) and golden.safetensors:
    input_ids      i64 [T]
    logits         f32 [T, vocab]            weights widened to float32, eager attention, CPU
    logits_native  f32 [T, vocab]            the same run in the 16-bit storage type (absent for f32)
    hidden.{l}     f32 [T, hidden]           residual stream after decoder layer l
    k.{l}, v.{l}   f32 [kv_heads, T, head_dim]   as a DynamicCache holds them: keys rotated
    k_unrotated.{l} f32 [kv_heads, T, head_dim]  output of k_proj, or of k_norm where there is one
    greedy_ids     i64 [8]                   greedy continuation of input_ids
"""
import argparse
import hashlib
import json
import platform
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import safetensors
import safetensors.torch
import torch
import transformers

import manifest
from fixture_specs import MODELS, PROMPT_LENGTH, config_json

HERE = Path(__file__).resolve().parent
GREEDY_STEPS = 8
GOLDEN_TOLERANCE = 2e-5  # regenerated on another CPU, relative to the largest magnitude of the tensor


def norm_shapes(config, at):
    """The norms around attention and feed-forward network."""
    kind = config["model_type"]
    names = ["input_layernorm", "post_attention_layernorm"]
    if kind.startswith("gemma"):
        names += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
    if kind.startswith("olmo"):
        names = ["post_attention_layernorm", "post_feedforward_layernorm"]
    return {f"{at}{name}.weight": (config["hidden_size"],) for name in names}


def attention_shapes(config, at, rows, head_dim):
    hidden, kind, shapes = config["hidden_size"], config["model_type"], {}
    if kind == "phi3":
        shapes[f"{at}self_attn.qkv_proj.weight"] = (rows["q"] + 2 * rows["k"], hidden)
    else:
        for name, count in rows.items():
            shapes[f"{at}self_attn.{name}_proj.weight"] = (count, hidden)
            if kind == "qwen2" or config.get("attention_bias"):
                shapes[f"{at}self_attn.{name}_proj.bias"] = (count,)
    if kind == "gpt_oss":
        shapes[f"{at}self_attn.sinks"] = (config["num_attention_heads"],)
    if kind in ("qwen3", "qwen3_moe", "gemma3_text"):
        shapes[f"{at}self_attn.q_norm.weight"] = shapes[f"{at}self_attn.k_norm.weight"] = (head_dim,)
    if kind.startswith("olmo"):
        shapes[f"{at}self_attn.q_norm.weight"] = (rows["q"],)
        shapes[f"{at}self_attn.k_norm.weight"] = (rows["k"],)
    shapes[f"{at}self_attn.o_proj.weight"] = (hidden, rows["q"])
    if config.get("attention_bias"):
        shapes[f"{at}self_attn.o_proj.bias"] = (hidden,)
    return shapes


def feed_forward_shapes(config, at):
    hidden, inner, shapes = config["hidden_size"], config["intermediate_size"], {}
    if config["model_type"] == "phi3":
        shapes[f"{at}mlp.gate_up_proj.weight"] = (2 * inner, hidden)
    else:
        shapes[f"{at}mlp.gate_proj.weight"] = shapes[f"{at}mlp.up_proj.weight"] = (inner, hidden)
    shapes[f"{at}mlp.down_proj.weight"] = (hidden, inner)
    if config.get("mlp_bias"):
        shapes[f"{at}mlp.gate_proj.bias"] = shapes[f"{at}mlp.up_proj.bias"] = (inner,)
        shapes[f"{at}mlp.down_proj.bias"] = (hidden,)
    return shapes


def expert_shapes(config, at, names):
    """Shapes of a mixture whose experts are tensors of their own; names: those of the block, of gate, up and down."""
    block, gate, up, down = names
    hidden, inner = config["hidden_size"], config.get("moe_intermediate_size", config["intermediate_size"])
    count = config.get("num_experts") or config["num_local_experts"]
    shapes = {f"{at}{block}.gate.weight": (count, hidden)}
    for expert in range(count):
        for name, shape in ((gate, (inner, hidden)), (up, (inner, hidden)), (down, (hidden, inner))):
            shapes[f"{at}{block}.experts.{expert}.{name}.weight"] = shape
    return shapes


def stacked_expert_shapes(config, at, packed):
    """Shapes of the experts of gpt-oss: values [experts, inputs, outputs], or codes and exponents of MXFP4."""
    hidden, inner, count = config["hidden_size"], config["intermediate_size"], config["num_local_experts"]
    shapes = {f"{at}mlp.router.weight": (count, hidden), f"{at}mlp.router.bias": (count,)}
    for name, inputs, outputs in (("gate_up_proj", hidden, 2 * inner), ("down_proj", inner, hidden)):
        front = f"{at}mlp.experts.{name}"
        if packed:
            shapes[f"{front}_blocks"] = (count, outputs, inputs // 32, 16)
            shapes[f"{front}_scales"] = (count, outputs, inputs // 32)
        else:
            shapes[front] = (count, inputs, outputs)
        shapes[f"{front}_bias"] = (count, outputs)
    return shapes


def mixing_shapes(config, at, layer, packed):
    """The feed-forward network of a layer, or its experts."""
    kind = config["model_type"]
    if kind == "mixtral":
        return expert_shapes(config, at, ("block_sparse_moe", "w1", "w3", "w2"))
    if kind == "qwen3_moe" and layer not in config["mlp_only_layers"]:
        return expert_shapes(config, at, ("mlp", "gate_proj", "up_proj", "down_proj"))
    if kind == "gpt_oss":
        return stacked_expert_shapes(config, at, packed)
    return feed_forward_shapes(config, at)


def tensor_shapes(config, packed=False):
    """Name -> shape of every tensor of a checkpoint, in file order."""
    hidden, vocab = config["hidden_size"], config["vocab_size"]
    head_dim = config.get("head_dim") or hidden // config["num_attention_heads"]
    rows = {"q": config["num_attention_heads"] * head_dim, "k": config["num_key_value_heads"] * head_dim}
    rows["v"] = rows["k"]
    shapes = {"model.embed_tokens.weight": (vocab, hidden)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        norms = norm_shapes(config, at)
        shapes.update(attention_shapes(config, at, rows, head_dim))
        shapes.update(mixing_shapes(config, at, layer, packed))
        shapes.update(norms)
    shapes["model.norm.weight"] = (hidden,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (vocab, hidden)
    return shapes


def random_tensor(rng, name, shape, offset=0.0):
    """Scales chosen so that logits spread over a few units and attention prefers some rows to others. offset: what a
    norm adds to its weight."""
    noise = rng.standard_normal(shape)
    if name.endswith("norm.weight") and offset:
        return (0.5 if name.endswith(("q_norm.weight", "k_norm.weight")) else 0.0) + 0.25 * noise
    if name.endswith(("q_norm.weight", "k_norm.weight")):
        return 1.5 + 0.3 * noise
    if name.endswith("norm.weight"):
        return 1.0 + 0.2 * noise
    if name.endswith(("bias", "sinks")):
        return 0.5 * noise
    if len(shape) == 2 and ("embed_tokens" in name or "lm_head" in name):
        return 2.0 / np.sqrt(shape[1]) * noise
    gain = 1.4 if "q_proj" in name or "k_proj" in name else 1.0
    return gain / np.sqrt(shape[1]) * noise


def random_codes(rng, name, shape):
    """Bytes of MXFP4: codes of any value, exponents that give weights of about 1/8."""
    most = (0, 256) if name.endswith("_blocks") else (121, 124)
    return torch.from_numpy(rng.integers(*most, shape).astype(np.uint8))


def make_weights(name):
    dtype, config, _ = MODELS[name]
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    rng = np.random.Generator(np.random.PCG64(seed))
    offset = 1.0 if config["model_type"].startswith("gemma") else 0.0
    packed = dtype == "mxfp4"
    stored = torch.bfloat16 if packed else getattr(torch, dtype)
    weights = {key: random_codes(rng, key, shape) if key.endswith(("_blocks", "_scales"))
               else torch.from_numpy(random_tensor(rng, key, shape, offset)).to(stored)
               for key, shape in tensor_shapes(config, packed).items()}
    ids = rng.integers(3, config["vocab_size"], PROMPT_LENGTH)
    ids[0] = config["bos_token_id"]
    return weights, torch.from_numpy(ids.astype(np.int64))


def save_checkpoint(directory, name, weights):
    """config.json and the weights, in one file or in shards of about equal bytes with their index."""
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(config_json(name), indent=2) + "\n")
    shards = MODELS[name][2]
    if shards == 1:
        safetensors.torch.save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
        return
    total = sum(t.nbytes for t in weights.values())
    parts, seen = [{} for _ in range(shards)], 0
    for key, tensor in weights.items():
        parts[min(seen * shards // total, shards - 1)][key] = tensor
        seen += tensor.nbytes
    weight_map = {}
    for number, part in enumerate(parts, 1):
        file = f"model-{number:05d}-of-{shards:05d}.safetensors"
        safetensors.torch.save_file(part, directory / file, metadata={"format": "pt"})
        weight_map.update({key: file for key in part})
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


def load_model(directory, dtype):
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        directory, dtype=dtype, attn_implementation="eager", output_loading_info=True,
        **({"experts_implementation": "eager"} if "experts" in (directory / "config.json").read_text() else {}))
    missing = set(report["missing_keys"]) - {"lm_head.weight"}
    if missing or report["unexpected_keys"] or report["mismatched_keys"]:
        raise SystemExit(f"{directory.name}: transformers disagrees about the tensors: {report}")
    return model.eval()


def watch(model, out):
    """Hooks that note the keys before rotation and the residual stream of every layer."""
    def note_keys(layer):
        heads, dim = model.config.num_key_value_heads, model.model.layers[layer].self_attn.head_dim
        fused = model.config.num_attention_heads * dim  # phi3 fuses q, k and v; k starts here
        def hook(_module, _args, result):
            keys = result[0]
            if model.config.model_type == "phi3":
                keys = keys[..., fused:fused + heads * dim]
            if model.config.model_type == "gemma3_text":  # its norm comes behind the swap of heads and tokens
                keys = keys.transpose(0, 1)
            out[f"k_unrotated.{layer}"] = keys.reshape(-1, heads, dim).transpose(0, 1).float().contiguous()
        return hook

    def note_hidden(layer):
        def hook(_module, _args, result):
            out[f"hidden.{layer}"] = (result[0] if isinstance(result, tuple) else result).reshape(
                -1, model.config.hidden_size).float().clone()
        return hook

    handles = []
    for number, block in enumerate(model.model.layers):
        attention = block.self_attn
        source = getattr(attention, "k_norm", None) or getattr(attention, "k_proj", None) or attention.qkv_proj
        handles.append(source.register_forward_hook(note_keys(number)))
        handles.append(block.register_forward_hook(note_hidden(number)))
    return handles


def run_float32(model, ids):
    """Every tensor of a golden file but logits_native. The cache is built without a configuration, so that
    layers with a window keep all their rows; the mask still applies the window."""
    golden = {"input_ids": ids}
    handles = watch(model, golden)
    cache = transformers.DynamicCache()
    golden["logits"] = model(input_ids=ids[None], past_key_values=cache, use_cache=True).logits[0].float().clone()
    for handle in handles:
        handle.remove()
    for number, layer in enumerate(cache.layers):
        golden[f"k.{number}"] = layer.keys[0].clone()
        golden[f"v.{number}"] = layer.values[0].clone()
    tokens = ids.tolist()
    for _ in range(GREEDY_STEPS):
        best = model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1].topk(2)
        if best.values[0] - best.values[1] < 1e-3:
            raise SystemExit("a greedy choice is too close to call; change the seed")
        tokens.append(int(best.indices[0]))
    golden["greedy_ids"] = torch.tensor(tokens[len(ids):])
    return golden


def attention_spread(model, ids):
    """Mean entropy of the attention rows over that of uniform rows: 1 would be degenerate."""
    weights = model(input_ids=ids[None], output_attentions=True, use_cache=False).attentions
    last = torch.stack([w[0, :, -1, :] for w in weights])
    visible = (last > 0).sum(-1).float()
    return float((-(last * last.clamp_min(1e-12).log()).sum(-1) / visible.log()).mean())


def write_model(root, name):
    directory = root / name
    weights, ids = make_weights(name)
    save_checkpoint(directory, name, weights)
    with torch.inference_mode():
        model = load_model(directory, torch.float32)
        golden = run_float32(model, ids)
        spread = attention_spread(model, ids)
        native = getattr(torch, config_json(name).get("dtype") or config_json(name)["torch_dtype"])
        if native != torch.float32:
            golden["logits_native"] = load_model(directory, native)(input_ids=ids[None]).logits[0].float().clone()
    safetensors.torch.save_file(golden, directory / "golden.safetensors")
    size = sum(f.stat().st_size for f in directory.iterdir())
    print(f"{name:26} {size / 1024:6.1f} KiB  logits std {golden['logits'].std():.2f}  "
          f"attention entropy / uniform {spread:.2f}")


def versions():
    return {"python": platform.python_version(), "torch": torch.__version__.split("+")[0],
            "transformers": transformers.__version__, "safetensors": safetensors.__version__,
            "numpy": np.__version__}


def write_all(root):
    if root.exists():
        shutil.rmtree(root)
    for name in MODELS:
        write_model(root, name)
    manifest.write(root, versions())


def compare_golden(committed, fresh):
    """Largest relative difference between two golden files; integers must be equal."""
    a, b = (safetensors.torch.load_file(f) for f in (committed, fresh))
    if a.keys() != b.keys():
        return float("inf")
    worst = 0.0
    for key, value in a.items():
        if value.dtype == torch.int64:
            worst = max(worst, 0.0 if torch.equal(value, b[key]) else float("inf"))
        elif key != "logits_native":  # 16-bit arithmetic differs between CPUs far above the tolerance
            worst = max(worst, float((value - b[key]).abs().max() / value.abs().max()))
    return worst


def check(root):
    """Committed bytes match the manifest; weights regenerate byte for byte, goldens within the tolerance."""
    bad, wanted = manifest.differences(root), manifest.read(root)
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "models"
        write_all(fresh)
        for file, digest in manifest.hash_tree(fresh).items():
            if wanted.get(file) == digest:
                continue
            if not file.endswith("golden.safetensors"):
                bad.append(f"{file}: regenerating gives other bytes")
                continue
            error = compare_golden(root / file, fresh / file)
            print(f"{file}: not bit-identical, max relative difference {error:.2e}")
            if not error <= GOLDEN_TOLERANCE:
                bad.append(f"{file}: regenerated golden is {error:.2e} away, limit {GOLDEN_TOLERANCE:.0e}")
    print("\n".join(bad) if bad else f"{len(wanted)} files as in {manifest.NAME}")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, default=HERE / "models")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if options.check:
        return check(options.out)
    write_all(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
