#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a Llama in GGUF format with random weights, for measurements of speed and memory.

    python tests/bench/random_gguf.py tinyllama-f16.gguf                     # TinyLlama-1.1B's shape
    python tests/bench/random_gguf.py large-q8_0.gguf --type Q8_0 --layers 84

All layers have the same weights: values do not change the time of a product. The vocabulary has bytes and words that
nobody says. Needs PyPI gguf. llama-quantize makes other types of the file.
"""
import argparse

import gguf
import numpy as np


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--type", default="F16", choices=["F16", "Q8_0"])
    for name, value in {"hidden": 2048, "layers": 22, "heads": 32, "kv-heads": 4, "intermediate": 5632, "vocab": 32000}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def add_tokens(out, count):
    kinds = gguf.TokenType
    special = [("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL), ("</s>", kinds.CONTROL)]
    tokens = special + [(f"<0x{byte:02X}>", kinds.BYTE) for byte in range(256)]
    tokens += [(f"word{i}", kinds.NORMAL) for i in range(count - len(tokens))]
    out.add_tokenizer_model("llama")
    out.add_tokenizer_pre("default")
    out.add_token_list([text for text, _ in tokens])
    out.add_token_scores([0.0] * len(special) + [-1.0 * i for i in range(count - len(special))])
    out.add_token_types([int(kind) for _, kind in tokens])
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)


def add_shape(out, args):
    out.add_block_count(args.layers)
    out.add_context_length(1 << 15)
    out.add_embedding_length(args.hidden)
    out.add_feed_forward_length(args.intermediate)
    out.add_head_count(args.heads)
    out.add_head_count_kv(args.kv_heads)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_freq_base(10000.0)
    out.add_rope_dimension_count(args.hidden // args.heads)
    out.add_vocab_size(args.vocab)


def main():
    args = arguments()
    out = gguf.GGUFWriter(args.file, "llama")
    kind = gguf.GGMLQuantizationType[args.type]
    draw = np.random.default_rng(1)
    out.add_file_type(gguf.LlamaFileType[{"F16": "MOSTLY_F16", "Q8_0": "MOSTLY_Q8_0"}[args.type]])
    add_shape(out, args)
    add_tokens(out, args.vocab)

    def matrix(rows, columns):
        values = draw.standard_normal((rows, columns), dtype=np.float32) / np.float32(columns ** 0.5)
        return gguf.quantize(values, kind)

    ones, wide = np.ones(args.hidden, np.float32), args.kv_heads * args.hidden // args.heads
    shapes = {"attn_q": (args.hidden, args.hidden), "attn_k": (wide, args.hidden), "attn_v": (wide, args.hidden),
              "attn_output": (args.hidden, args.hidden), "ffn_gate": (args.intermediate, args.hidden),
              "ffn_up": (args.intermediate, args.hidden), "ffn_down": (args.hidden, args.intermediate)}
    layer = {name: matrix(*shape) for name, shape in shapes.items()}
    for name in ("token_embd", "output"):
        out.add_tensor(f"{name}.weight", matrix(args.vocab, args.hidden), raw_dtype=kind)
    out.add_tensor("output_norm.weight", ones)
    for i in range(args.layers):
        for name, values in layer.items():
            out.add_tensor(f"blk.{i}.{name}.weight", values, raw_dtype=kind)
        for name in ("attn_norm", "ffn_norm"):
            out.add_tensor(f"blk.{i}.{name}.weight", ones)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    main()
