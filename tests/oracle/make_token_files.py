# SPDX-License-Identifier: Apache-2.0
"""Writes tests/oracle/token_files/folders.json: what transformers makes of texts where files beside a tokenizer name
tokens. Each folder is a tokenizer of tokenizers/ with drawn files beside it.

    python make_token_files.py draw OUT.json      with one version of transformers
    python make_token_files.py join A.json B.json with the outputs of two: keeps the texts on which both agree

[{base, files: {NAME: JSON}, texts: [{text, ids, ids_special, decoded}]}]
"""
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = 60
BASES = ["gpt2", "qwen2", "llama2", "llama2_metaspace", "added_tokens", "smollm", "sentencepiece", "sentencepiece"]
NAMES = ["bos_token", "eos_token", "unk_token", "pad_token"]
NEW = ["<|call|>", "<|tool|>", "<|plain|>", "<x>", "[INST]", "<|im_end|>", "<|im_start|>", "word", "<x><y>", "<\u00e9>"]


def known_tokens(base):
    """(number of tokens, {text: id} of the tokenizer's own added tokens)"""
    if base == "sentencepiece":
        return 680, {"<unk>": 0, "<s>": 1, "</s>": 2}
    file = json.loads((HERE / "tokenizers" / base / "tokenizer.json").read_text())
    added = {token["content"]: token["id"] for token in file["added_tokens"]}
    return len(file["model"]["vocab"].keys() | added.keys()), added


def drawn(seed):
    draw = random.Random(seed)
    base = draw.choice(BASES)
    size, known = known_tokens(base)
    new = [text for text in NEW if text not in known]
    draw.shuffle(new)
    mine = new[:draw.randint(1, 4)]
    pool = [*known, *new[:len(mine) + 2]]

    def token(text):
        return {"content": text, "lstrip": draw.random() < .3, "rstrip": draw.random() < .3,
                "normalized": draw.random() < .4, "single_word": draw.random() < .2, "special": draw.random() < .6}

    def names(odds):
        return {name: draw.choice(pool) for name in NAMES if draw.random() < odds}

    config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **names(.3)}
    files = {"tokenizer_config.json": config}
    kind = draw.choice(["decoder", "added", "map"])
    if kind == "decoder":
        config["added_tokens_decoder"] = {str(size + i): token(text) for i, text in enumerate(mine)}
        again = draw.choice(list(known))
        config["added_tokens_decoder"][str(known[again])] = token(again)
    elif kind == "added":
        files["added_tokens.json"] = {text: size + i for i, text in enumerate(mine)}
    if kind != "decoder":
        special = {name: {k: v for k, v in token(text).items() if k != "special"} for name, text in names(.4).items()}
        files["special_tokens_map.json"] = {**special, "additional_special_tokens": draw.sample(pool, 2)}
    elif draw.random() < .5:
        config["additional_special_tokens"] = draw.sample(pool, 2)
    if base == "sentencepiece":
        config.update(tokenizer_class="LlamaTokenizer", add_bos_token=draw.random() < .7,
                      add_eos_token=draw.random() < .3, legacy=draw.random() < .5)
        for name, text in (("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>")):
            config.setdefault(name, text)
    bits = [*pool, "the cat", "lamp", " ", "  ", "\n", "door42", "\u00e9", "Xword", "word", " a", "."]
    return base, files, ["".join(draw.choice(bits) for _ in range(draw.randint(1, 6))) for _ in range(8)]


def answers(base, files, texts):
    from transformers import AutoTokenizer
    with tempfile.TemporaryDirectory() as folder:
        for file in (HERE / "tokenizers" / base).glob("tokenizer.*"):
            shutil.copy(file, folder)
        for name, value in files.items():
            Path(folder, name).write_text(json.dumps(value))
        tokenizer = AutoTokenizer.from_pretrained(folder)
        ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        return [{"text": text, "ids": one, "ids_special": tokenizer(text)["input_ids"], "decoded": tokenizer.decode(one)}
                for text, one in zip(texts, ids)]


def draw_all(path):
    folders = []
    for seed in range(FOLDERS):
        base, files, texts = drawn(seed)
        folders.append({"base": base, "files": files, "texts": answers(base, files, texts)})
    Path(path).write_text(json.dumps(folders))


def join(first, second):
    a, b = (json.loads(Path(path).read_text()) for path in (first, second))
    folders = []
    for one, other in zip(a, b):
        texts = [text for text, same in zip(one["texts"], other["texts"]) if text == same]
        folders.append({**one, "texts": texts})
    out = HERE / "token_files" / "folders.json"
    out.write_text("[\n" + ",\n".join(json.dumps(folder) for folder in folders) + "\n]\n")
    print(sum(len(folder["texts"]) for folder in folders), "texts in", len(folders), "folders")


if __name__ == "__main__":
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    draw_all(sys.argv[2]) if sys.argv[1] == "draw" else join(*sys.argv[2:4])
