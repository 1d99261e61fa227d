# SPDX-License-Identifier: Apache-2.0
"""Writes tests/oracle/gguf: the model fixtures once more, as files in GGUF format that PyPI gguf writes.

    python make_gguf.py            write every file and MANIFEST.json
    python make_gguf.py --check    verify hashes, write elsewhere and compare: byte for byte

NAME.gguf holds the weights of models/NAME: matrices in their type, vectors in float32, names from the tables of PyPI
gguf, rows of q and k permuted where the rotation of the architecture pairs neighbours, norms of Gemma with their 1
inside. It must give the logits of models/NAME/golden.safetensors. words.gguf has a vocabulary of tokenizers/llama2;
types.gguf has a tensor of each type, and types.safetensors what PyPI gguf's dequantisers make of it.
"""
import argparse
import json
import math
import re
import shutil
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np
import safetensors
import safetensors.torch
import torch

import manifest

HERE = Path(__file__).resolve().parent
MODELS = HERE / "models"
T = gguf.GGMLQuantizationType
ARCHS = {"llama": "llama", "mistral": "llama", "mixtral": "llama", "qwen2": "qwen2", "qwen3": "qwen3",
         "qwen3_moe": "qwen3moe", "gemma2": "gemma2", "gemma3_text": "gemma3", "phi3": "phi3", "smollm3": "smollm3",
         "olmo2": "olmo2", "olmo3": "olmo2", "gpt_oss": "gpt-oss", "ministral3": "mistral3"}
NEIGHBOURS = ("llama", "smollm3", "mistral3")
# No key says that some layers of Qwen have windows, that a Gemma scales its scores by another number than its head's
# length, that dynamic NTK is meant, or which layers of SmolLM3 do not turn; Ministral (not 3) has no architecture.
# Nor which layers of Qwen 3 are dense, or that weights of its experts do not add up to 1.
UNSAYABLE = ("qwen2_window_bf16", "qwen3_moe_dense_bf16", "gemma2_bf16", "gemma3_wide_f16", "llama_dynamic_f32", "smollm3_f32", "ministral_f32")
LIKE_NEIGHBOURS = ("gpt_oss_f32", "llama_untied_f32", "mistral_window_f32", "qwen3_f32", "llama_linear_bf16",
                   "llama_head12_f32", "gemma3_head20_f16", "qwen3_moe_head12_bf16")
LEFT_OUT = UNSAYABLE + LIKE_NEIGHBOURS
TYPES = (T.F32, T.F16, T.BF16, T.Q8_0, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q4_K, T.Q5_K, T.Q6_K, T.MXFP4)


def read_model(name):
    folder = MODELS / name
    weights = {}
    for file in sorted(folder.glob("model*.safetensors")):
        weights.update(safetensors.torch.load_file(file))
    return json.loads((folder / "config.json").read_text()), weights


def rope_of(config):
    """The rotary keys in one form: those of the layers that see everything."""
    rope = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    rope = dict(rope.get("full_attention", rope))
    rope.setdefault("rope_theta", config.get("rope_theta", 10000.0))
    rope.setdefault("rope_type", rope.get("type", "default"))
    for key in ("original_max_position_embeddings", "partial_rotary_factor"):
        if key in config:
            rope.setdefault(key, config[key])
    return rope


def head_dim(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def add_sizes(out, config):
    out.add_block_count(config["num_hidden_layers"])
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(config["num_attention_heads"])
    out.add_head_count_kv(config["num_key_value_heads"])
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    if config.get("head_dim"):
        out.add_key_length(config["head_dim"])
        out.add_value_length(config["head_dim"])
    out.add_bos_token_id(config["bos_token_id"])
    eos = config["eos_token_id"]
    out.add_eos_token_id(eos[0] if isinstance(eos, list) else eos)


def add_rope(out, arch, config):
    rope = rope_of(config)
    kind = rope["rope_type"]
    out.add_rope_freq_base(rope["rope_theta"])
    if arch in ("llama", "phi3", "mistral3"):
        out.add_rope_dimension_count(int(head_dim(config) * rope.get("partial_rotary_factor", 1.0)))
    if kind in ("linear", "yarn"):
        out.add_rope_scaling_type(gguf.RopeScalingType(kind))
        out.add_rope_scaling_factor(rope["factor"])
    if kind == "longrope":
        out.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)
    if kind in ("yarn", "longrope"):
        out.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    for key, add in (("attention_factor", out.add_rope_scaling_yarn_attn_factor),
                     ("beta_fast", out.add_rope_scaling_yarn_beta_fast),
                     ("beta_slow", out.add_rope_scaling_yarn_beta_slow),
                     ("mscale_all_dim", out.add_rope_scaling_yarn_log_mul),
                     ("llama_4_scaling_beta", out.add_attn_temperature_scale)):
        if key in rope:
            add(rope[key])


def add_windows(out, arch, config):
    slides = config["model_type"] in ("mistral", "mixtral", "gemma2", "gemma3_text", "olmo3", "gpt_oss", "phi3")
    if slides and config.get("sliding_window"):
        out.add_sliding_window(config["sliding_window"])
        types = config.get("layer_types")
        if types and arch not in ("llama", "phi3"):
            out.add_sliding_window_pattern([t == "sliding_attention" for t in types])
    local = (config.get("rope_parameters") or {}).get("sliding_attention", {}).get("rope_theta")
    if local or config.get("rope_local_base_freq"):
        out.add_rope_freq_base_swa(local or config["rope_local_base_freq"])


def add_experts(out, config):
    count = config.get("num_local_experts", config.get("num_experts"))
    if not count:
        return
    out.add_expert_count(count)
    out.add_expert_used_count(config["num_experts_per_tok"])
    if config["model_type"] != "mixtral":
        out.add_expert_feed_forward_length(config.get("moe_intermediate_size", config["intermediate_size"]))


def add_caps(out, config):
    if config.get("attn_logit_softcapping"):
        out.add_attn_logit_softcapping(config["attn_logit_softcapping"])
    if config.get("final_logit_softcapping"):
        out.add_final_logit_softcapping(config["final_logit_softcapping"])


def llama3_factors(config):
    """By what each frequency is divided: transformers' rule for llama3, one frequency after the other."""
    rope, dim = rope_of(config), head_dim(config)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    out = []
    for i in range(0, dim, 2):
        turns = rope["original_max_position_embeddings"] / (2 * math.pi) * rope["rope_theta"] ** (-i / dim)
        smooth = min(max((turns - low) / (high - low), 0.0), 1.0)
        out.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(out, np.float32)


def extra_tensors(config):
    rope = rope_of(config)
    if rope["rope_type"] == "llama3":
        yield "rope_freqs.weight", llama3_factors(config)
    if rope["rope_type"] == "longrope":
        yield "rope_factors_long.weight", np.array(rope["long_factor"], np.float32)
        yield "rope_factors_short.weight", np.array(rope["short_factor"], np.float32)


def permuted(tensor, heads):
    """Rows of a head: first half, second half -> pairs of one of each."""
    rest = tensor.shape[1:]
    return tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *rest).swapaxes(1, 2).reshape(tensor.shape)


def stacked_experts(weights):
    """model.layers.0.mlp.experts.3.gate_proj.weight -> one tensor for all experts of a layer."""
    out, stacks = {}, {}
    for name, tensor in weights.items():
        match = re.fullmatch(r"(.*\.experts)\.(\d+)\.(\w+)\.weight", name)
        if match:
            stacks.setdefault((match[1], match[3]), {})[int(match[2])] = tensor
        else:
            out[name] = tensor
    for (front, part), experts in stacks.items():
        if "block_sparse_moe" in front:  # the name that PyPI gguf's table has for Mixtral's
            front = front.replace("model.", "").replace("block_sparse_moe", "feed_forward")
        out[f"{front}.{part}.weight"] = torch.stack([experts[i] for i in range(len(experts))])
    return out


def joined_codes(blocks, scales):
    """Codes of 4 bits, two neighbours in a byte, and exponents -> blocks of MXFP4: the exponent, then values i and i + 16
    in byte i."""
    low, high = blocks & 15, blocks >> 4
    values = torch.stack([low, high], -1).reshape(*blocks.shape[:-1], 32)
    codes = values[..., :16] | values[..., 16:] << 4
    return torch.cat([scales[..., None], codes], -1).flatten(-2)


def join_packed(weights):
    """Experts in MXFP4 as tensors of bytes [experts, outputs, bytes], gate and up apart."""
    out = {}
    for name, tensor in weights.items():
        if name.endswith("_scales"):
            continue
        if not name.endswith("_blocks"):
            out[name] = tensor
            continue
        front, _, last = name.removesuffix("_blocks").rpartition(".")
        whole = joined_codes(tensor, weights[name.replace("_blocks", "_scales")])
        if last == "gate_up_proj":
            out[f"{front}.gate_proj.weight"], out[f"{front}.up_proj.weight"] = whole[:, ::2], whole[:, 1::2]
        else:
            out[f"{front}.{last}.weight"] = whole
    return out


def split_gate_up(weights):
    """gpt-oss keeps gate and up of all experts in alternate columns, [experts, in, out]."""
    out = {}
    for name, tensor in weights.items():
        front, _, last = name.rpartition(".")
        if last == "gate_up_proj":
            out[f"{front}.gate_proj.weight"] = tensor[..., ::2].transpose(1, 2).contiguous()
            out[f"{front}.up_proj.weight"] = tensor[..., 1::2].transpose(1, 2).contiguous()
        elif last == "gate_up_proj_bias":
            out[f"{front}.gate_proj.bias"], out[f"{front}.up_proj.bias"] = tensor[..., ::2], tensor[..., 1::2]
        elif last == "down_proj" and tensor.dim() == 3:
            out[f"{front}.down_proj.weight"] = tensor.transpose(1, 2).contiguous()
        elif last == "down_proj_bias":
            out[f"{front}.down_proj.bias"] = tensor
        else:
            out[name + ".weight" if last == "sinks" else name] = tensor
    return out


def tensors_of(arch, config, weights):
    """Name in the file, tensor, in the order of the checkpoint."""
    if config["model_type"] == "gpt_oss":
        weights = split_gate_up(join_packed(weights))
    names = gguf.get_tensor_name_map(next(k for k, v in gguf.MODEL_ARCH_NAMES.items() if v == arch),
                                     config["num_hidden_layers"])
    for name, tensor in stacked_experts(weights).items():
        if arch in NEIGHBOURS and re.search(r"\.(q|k)_proj\.", name):
            which = "num_attention_heads" if ".q_proj." in name else "num_key_value_heads"
            tensor = permuted(tensor, config[which])
        if arch.startswith("gemma") and name.endswith("norm.weight"):
            tensor = tensor.float() + 1
        yield names.get_name(name, try_suffixes=(".weight", ".bias")), tensor


def add_tensor(out, name, tensor):
    """Vectors are written in float32, as converters do."""
    if tensor.dtype == torch.uint8:
        out.add_tensor(name, tensor.contiguous().numpy(), raw_dtype=T.MXFP4)
    elif tensor.dim() == 1 or tensor.dtype == torch.float32:
        out.add_tensor(name, tensor.float().contiguous().numpy())
    elif tensor.dtype == torch.float16:
        out.add_tensor(name, tensor.contiguous().numpy())
    else:
        out.add_tensor(name, tensor.contiguous().view(torch.uint8).numpy(), raw_dtype=T.BF16)


def write(out):
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def write_model(root, name):
    config, weights = read_model(name)
    arch = ARCHS[config["model_type"]]
    shards = len(list((MODELS / name).glob("model*.safetensors")))
    out = gguf.GGUFWriter(root / f"{name}.gguf", arch, split_max_tensors=math.ceil(len(weights) / shards) if shards > 1 else 0)
    out.add_name(name)
    add_sizes(out, config)
    add_rope(out, arch, config)
    add_windows(out, arch, config)
    add_experts(out, config)
    add_caps(out, config)
    for key, factors in extra_tensors(config):
        out.add_tensor(key, factors)
    for key, tensor in tensors_of(arch, config, weights):
        add_tensor(out, key, tensor)
    write(out)


def write_words(root):
    """A model whose only purpose are its tokens: those of tokenizers/llama2, with a template for conversations."""
    parts = json.loads((HERE / "tokenizers/llama2/tokenizer.json").read_text())
    vocab = sorted(parts["model"]["vocab"], key=parts["model"]["vocab"].get)
    ranks = {"".join(m.split(" ") if isinstance(m, str) else m): i for i, m in enumerate(parts["model"]["merges"])}
    kinds = {"<unk>": gguf.TokenType.UNKNOWN, "<s>": gguf.TokenType.CONTROL, "</s>": gguf.TokenType.CONTROL}
    out = gguf.GGUFWriter(root / "words.gguf", "llama")
    out.add_name("words")
    config = {"num_hidden_layers": 1, "max_position_embeddings": 64, "hidden_size": 32, "intermediate_size": 32,
              "num_attention_heads": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "bos_token_id": 1,
              "eos_token_id": 2}
    add_sizes(out, config)
    out.add_tokenizer_model("llama")
    out.add_token_list(vocab)
    out.add_token_scores([-float(ranks.get(token, 1e6)) for token in vocab])
    out.add_token_types([gguf.TokenType.BYTE if re.fullmatch(r"<0x..>", token) else kinds.get(token, gguf.TokenType.NORMAL)
                         for token in vocab])
    out.add_unk_token_id(0)
    out.add_add_bos_token(True)
    out.add_add_space_prefix(True)
    out.add_chat_template("{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}")
    rng = np.random.Generator(np.random.PCG64(7))
    shapes = {"token_embd": (len(vocab), 32), "output_norm": (32,), "blk.0.attn_norm": (32,), "blk.0.ffn_norm": (32,)}
    shapes |= {f"blk.0.{part}": (32, 32) for part in
               ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")}
    for name, shape in shapes.items():
        values = rng.standard_normal(shape).astype(np.float32 if len(shape) == 1 else np.float16)
        out.add_tensor(f"{name}.weight", values)
    write(out)


def sane_blocks(rng, kind, rows, columns):
    """Random bytes whose scales in half precision are numbers of about one."""
    values, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (rows * columns // values, size), np.uint8)
    scale_at = {T.Q6_K: (208,), T.Q4_1: (0, 2), T.Q5_1: (0, 2), T.Q4_K: (0, 2), T.Q5_K: (0, 2), T.MXFP4: ()}.get(kind, (0,))
    for at in scale_at:
        halves = rng.standard_normal(len(blocks)).astype(np.float16)
        blocks[:, at:at + 2] = halves.view(np.uint8).reshape(-1, 2)
    if kind == T.MXFP4:
        blocks[:, 0] = rng.integers(100, 140, len(blocks), np.uint8)
    return blocks.reshape(rows, -1)


def write_types(root):
    rng = np.random.Generator(np.random.PCG64(11))
    out, wanted = gguf.GGUFWriter(root / "types.gguf", "llama"), {}
    for kind in TYPES:
        if kind in (T.F32, T.F16):
            data = rng.standard_normal((2, 512)).astype(np.float32 if kind == T.F32 else np.float16)
            out.add_tensor(kind.name, data)
        else:
            if kind == T.BF16:
                data = (rng.standard_normal((2, 512)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
                data = data.view(np.uint8).reshape(2, -1)
            else:
                data = sane_blocks(rng, kind, 2, 512)
            out.add_tensor(kind.name, data, raw_dtype=kind)
        wanted[kind.name] = torch.from_numpy(np.ascontiguousarray(gguf.dequantize(data, kind), np.float32))
        wanted[f"{kind.name}.bytes"] = torch.from_numpy(np.ascontiguousarray(data).view(np.uint8).reshape(-1).copy())
    write(out)
    safetensors.torch.save_file(wanted, root / "types.safetensors")


def write_all(root):
    if root.exists():
        shutil.rmtree(root)
    root.mkdir(parents=True)
    for folder in sorted(MODELS.iterdir()):
        if folder.is_dir() and folder.name not in LEFT_OUT:
            write_model(root, folder.name)
    write_words(root)
    write_types(root)
    manifest.write(root, {"gguf": __import__("importlib.metadata").metadata.version("gguf"), "numpy": np.__version__})


def check(root):
    bad = manifest.differences(root)
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch) / root.name
        write_all(fresh)
        wanted = manifest.read(root)
        bad += [f"{file}: writing it anew gives other bytes" for file, digest in manifest.hash_tree(fresh).items()
                if wanted.get(file) != digest]
    print("\n".join(bad) if bad else f"{len(manifest.read(root))} files as in {manifest.NAME}")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, default=HERE / "gguf")
    options = parser.parse_args()
    if options.check:
        return check(options.out)
    write_all(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
