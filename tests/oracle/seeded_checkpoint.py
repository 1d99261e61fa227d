# SPDX-License-Identifier: Apache-2.0
"""A checkpoint of seeded random weights that has a tokenizer."""
import json
import shutil
from pathlib import Path

import numpy as np
import torch

import fixture_specs
import make_fixtures

HERE = Path(__file__).resolve().parent
SPECIAL = {"llama2": ("<s>", "</s>"), "qwen2": (None, "<|im_end|>")}  # the tokens that open and end a text


def checkpoint(folder, tokens):
    """Writes a tiny Llama of make_fixtures.py with the vocabulary of a tokenizer of tokenizers/ and 4 096 positions."""
    file = HERE / "tokenizers" / tokens / "tokenizer.json"
    source = json.loads(file.read_text(encoding="utf-8"))
    ids = {one["content"]: one["id"] for one in source["added_tokens"]}
    opens, ends = SPECIAL[tokens]
    dtype, config, shards = fixture_specs.MODELS["llama_tied_f32"]
    name = f"seeded_{tokens}"
    config = {**config, "bos_token_id": ids.get(opens), "eos_token_id": ids[ends], "max_position_embeddings": 4096,
              "vocab_size": max([*source["model"]["vocab"].values(), *ids.values()]) + 1}
    rng = np.random.Generator(np.random.PCG64(len(tokens)))
    weights = {key: torch.from_numpy(make_fixtures.random_tensor(rng, key, shape)).to(torch.float32)
               for key, shape in make_fixtures.tensor_shapes(config).items()}
    fixture_specs.MODELS[name] = (dtype, config, shards)
    try:
        make_fixtures.save_checkpoint(Path(folder), name, weights)
    finally:
        del fixture_specs.MODELS[name]
    shutil.copy(file, folder)
    return Path(folder)
