# SPDX-License-Identifier: Apache-2.0
"""Writes tests/oracle/gguf_tokenizers: the tokenizer keys of GGUF files, small, and what transformers makes of texts.

    python gguf_tokenizers.py           write the files and MANIFEST.json
    python gguf_tokenizers.py --check   verify hashes, regenerate elsewhere and compare byte for byte

rules.json   one byte-level vocabulary, whose merges cross every border, and for each split rule (tokenizer.ggml.pre)
             the ids of each text: {keys, texts, rules: {pre: [ids]}}
NAME.json    a SentencePiece vocabulary as llama, gemma3 or phi3 files have it: {keys, vectors: [{text, ids,
             ids_special, decoded, decoded_skip}]}
The keys have their names behind "tokenizer.ggml.".
"""
import io
import json
import sys
import tempfile
from pathlib import Path

import sentencepiece
import tokenizers
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers.integrations.gguf import gguf_tokenizer_mapping as mapping

import manifest
from tokenizer_texts import TEXTS, TRAINING

HERE = Path(__file__).resolve().parent
MERGES = 700
MORE = {
    "case": "camelCase HTTPServer DON'T don'tX \u01c5x \u00c9TUDE \u00e9tude iPhone",
    "slash": "end!/\n/a//\n!/",
    "marks": "a\u0301b\u0301c \u0e01\u0e38\u0e0d !\u0301x",
    "big_numbers": "12345678901 1234 ab12345cd \u0661\u0662\u0663\u0664\u0665 \u00b2\u00b2",
    "space_runs": " ".join(" " * n + "x" for n in (2, 3, 5, 31, 32, 33, 40, 64, 70)),
    "newline_runs": "".join("\n" * n + "x" for n in (1, 2, 3, 5, 31, 32, 40)),
    "tab_runs": "x".join("\t" * n for n in (1, 2, 3, 4, 9)),
    "turns": "<start_of_turn>user\nkey<end_of_turn>\n<|user|>\n key<|end|> \n x<|unused|>",
    "tags": "<b>key</b> <table><tr>",
}
ALL = {**TEXTS, **MORE}


def digits_apart():
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False)])


def falcon():
    return pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation(behavior="contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])


def gpt2():
    return pre_tokenizers.ByteLevel(add_prefix_space=False)


# Steps of the family's tokenizer.json that transformers does not take from a GGUF file.
STEPS = {"smollm": digits_apart, "starcoder": digits_apart, "refact": digits_apart, "command-r": digits_apart,
         "falcon": falcon, "gpt-2": gpt2, "phi-2": gpt2, "default": gpt2, "mpt": gpt2, "olmo": gpt2}
COMPOSED = ("qwen2", "qwen35", "command-r", "mpt", "olmo")
WHOLE = ("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "lfm2", "pixtral", "tekken")
NAMES = ("dbrx", "smaug-bpe", "qwen2", "deepseek-r1-qwen", "megrez", "qwen35", "gpt-4o", "llama4", "kanana2",
         *WHOLE, *STEPS)


def train_rules():
    """Merges of whole lines: wherever a rule cuts, the ids show it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(vocab_size=256 + MERGES, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False, max_token_length=12)
    tokenizer.train_from_iterator(TRAINING.splitlines(keepends=True) + list(MORE.values()) * 2, trainer)
    value = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(value["vocab"], key=value["vocab"].get)
    special = ["<|begin_of_text|>", "<|endoftext|>", "<|eot_id|>", "<|im_start|>", "<|im_end|>"]
    user = ["<tool_call>", "</tool_call>"]
    return {"model": "gpt2", "tokens": [*tokens, "harbourtown", *special, *user],
            "token_type": [1] * (len(tokens) + 1) + [3] * len(special) + [4] * len(user),
            "merges": [" ".join(pair) for pair in value["merges"]],
            "bos_token_id": len(tokens) + 1, "eos_token_id": len(tokens) + 2, "eot_token_id": len(tokens) + 3}


def rule_reference(keys, pre):
    given = {"tokenizer_type": "gpt2", "tokens": keys["tokens"], "token_type": keys["token_type"],
             "merges": keys["merges"], "pre_tokenizer_type": pre}
    backend = Tokenizer.from_str(mapping.convert_gguf_tokenizer("llama", given)[0].to_str())
    if pre in STEPS:
        backend.pre_tokenizer = STEPS[pre]()
    if pre in COMPOSED:
        backend.normalizer = normalizers.NFC()
    value = json.loads(backend.to_str())
    value["model"]["ignore_merges"] = pre in WHOLE
    return Tokenizer.from_str(json.dumps(value))


def write_rules(path):
    keys = train_rules()
    texts = [*ALL.values(), "harbourtown", "harbourtowns"]
    rules = {}
    for pre in sorted(NAMES):
        backend = rule_reference(keys, pre)
        rules[pre] = [backend.encode(text, add_special_tokens=False).ids for text in texts]
    path.write_text(json.dumps({"keys": keys, "texts": texts, "rules": rules}, separators=(",", ":")) + "\n")
    for pre, ids in rules.items():
        print(f"{pre}: as {', '.join(p for p in rules if p != pre and rules[p] == ids) or 'no other'}")


def train_pieces(user, prefix):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TRAINING.splitlines()), model_writer=out, model_type="bpe", vocab_size=720,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
        allow_whitespace_only_pieces=True, character_coverage=0.98, num_threads=1, unk_id=0, bos_id=1, eos_id=2,
        pad_id=-1, minloglevel=2, add_dummy_prefix=prefix, user_defined_symbols=user)
    return sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())


def keys_of(pieces, user=(), control=(), prefix=True):
    """As files are converted: runs of spaces of the user are spelled with spaces, added control tokens at the end."""
    n = pieces.get_piece_size()
    tokens, types, scores = [], [], []
    for i in range(n):
        kind = (2 if pieces.is_unknown(i) else 3 if pieces.is_control(i) else 6 if pieces.is_byte(i)
                else 4 if pieces.id_to_piece(i) in user else 1)
        piece = pieces.id_to_piece(i)
        tokens.append(piece.replace("\u2581", " ") if kind == 4 else piece)
        types.append(kind)
        scores.append(-1000.0 if kind == 4 else pieces.get_score(i))
    return {"model": "llama", "pre": "default", "tokens": [*tokens, *control], "token_type": types + [3] * len(control),
            "scores": scores + [-1000.0] * len(control), "bos_token_id": 1, "eos_token_id": 2,
            "unknown_token_id": 0, "add_bos_token": True, "add_space_prefix": prefix}


def backend_of(architecture, keys):
    given = {"tokenizer_type": "llama", "tokens": keys["tokens"], "token_type": keys["token_type"],
             "scores": keys["scores"], "add_prefix_space": keys["add_space_prefix"]}
    backend = Tokenizer.from_str(mapping.convert_gguf_tokenizer(architecture, given)[0].to_str())
    value = json.loads(backend.to_str())
    value["model"]["unk_token"] = "<unk>"
    for token in value["added_tokens"]:  # Phi-3's own tokenizer.json has it
        token["rstrip"] = architecture == "phi3" and token["content"] not in ("<unk>", "<s>", "<|endoftext|>")
    backend = Tokenizer.from_str(json.dumps(value))
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    if keys["add_space_prefix"]:  # as SentencePiece puts it, before every part
        backend.pre_tokenizer = None
        backend.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
        backend.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(),
                                             decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return backend


def write_pieces(path, architecture, pieces, keys):
    backend = backend_of(architecture, keys)
    vectors, differing = [], []
    for name, text in ALL.items():
        ids = backend.encode(text, add_special_tokens=False).ids
        vectors.append({"text": text, "ids": ids, "ids_special": backend.encode(text).ids,
                        "decoded": backend.decode(ids, skip_special_tokens=False),
                        "decoded_skip": backend.decode(ids, skip_special_tokens=True)})
        if pieces.encode(text) != ids:
            differing.append(name)
    path.write_text(json.dumps({"architecture": architecture, "keys": keys, "vectors": vectors},
                               separators=(",", ":")) + "\n")
    print(f"{path.stem}: {len(ALL) - len(differing)} of {len(ALL)} texts as SentencePiece; not {', '.join(differing)}")


def write_all(root):
    root.mkdir(parents=True, exist_ok=True)
    write_rules(root / "rules.json")
    plain = train_pieces([], True)
    write_pieces(root / "llama.json", "llama", plain, keys_of(plain))
    write_pieces(root / "phi3.json", "phi3", plain, keys_of(plain, (), ("<|endoftext|>", "<|user|>", "<|end|>")))
    user = [*("\n" * n for n in range(1, 32)), *("\u2581" * n for n in range(2, 32)),
            *("\t" * n for n in range(1, 10)), "<table>", "<tr>", "<b>", "</b>"]
    gemma = train_pieces(user, False)
    write_pieces(root / "gemma3.json", "gemma3", gemma,
                 keys_of(gemma, user, ("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<pad>", "<mask>"), prefix=False))
    manifest.write(root, {"tokenizers": tokenizers.__version__, "sentencepiece": sentencepiece.__version__,
                          "transformers": transformers.__version__})


def check(root):
    bad, wanted = manifest.differences(root), manifest.read(root)
    with tempfile.TemporaryDirectory() as scratch:
        write_all(Path(scratch))
        fresh = manifest.hash_tree(Path(scratch))
    bad += [f"{name}: regenerating gives other bytes" for name in sorted(wanted.keys() | fresh.keys())
            if wanted.get(name) != fresh.get(name)]
    print("\n".join(bad) if bad else f"{len(wanted)} files as in {manifest.NAME}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(check(HERE / "gguf_tokenizers") if "--check" in sys.argv else write_all(HERE / "gguf_tokenizers"))
