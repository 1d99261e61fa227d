# SPDX-License-Identifier: Apache-2.0
"""Writes tests/oracle/tokenizers: small tokenizers and what their own libraries make of about eighty texts.

    python make_tokenizers.py           write every directory and MANIFEST.json
    python make_tokenizers.py --check   verify hashes, regenerate elsewhere and compare byte for byte

NAME/tokenizer.json (the tokenizers package) or NAME/tokenizer.model (SentencePiece), with
    vectors.json         [{name, text, ids, ids_special, decoded}]  ids without, ids_special with the special tokens
                         that the post-processor adds; decoded = decode(ids), special tokens kept
    decode_vectors.json  [{ids, decoded, decoded_skip}]  id lists that end inside a character, bytes that are not
                         UTF-8, every kind of token alone; decoded_skip leaves special tokens out
"""
import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # training order must not depend on threads
os.environ["RAYON_NUM_THREADS"] = "1"

import argparse
import io
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import sentencepiece
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import manifest
from tokenizer_texts import TEXTS, TRAINING

HERE = Path(__file__).resolve().parent
MERGES = 260
CONTROL = ["<unk>", "<s>", "</s>"]  # pieces of the SentencePiece model, by id
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3_PATTERN = CONTRACTION + "|" + WORDS + r"|\p{N}{1,3}|" + REST
QWEN2_PATTERN = CONTRACTION + "|" + WORDS + r"|\p{N}|" + REST


def train_byte_level(pre_tokenizer, normalizer=None, **bpe):
    tokenizer = Tokenizer(models.BPE(**bpe))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(vocab_size=256 + MERGES, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train_from_iterator(TRAINING.splitlines(keepends=True), trainer)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def byte_level(add_prefix_space=False, use_regex=True):
    return pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=use_regex)


def split_then_bytes(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level(use_regex=False)])


def gpt2():
    tokenizer = train_byte_level(byte_level())
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


def add_unreachable(tokenizer, word):
    """A vocabulary entry that no merges lead to: only ignore_merges finds it."""
    value = json.loads(tokenizer.to_str())
    vocab = value["model"]["vocab"]
    if word in vocab:
        raise SystemExit(f"{word} has merges already; take another word")
    vocab[word] = len(vocab)
    return Tokenizer.from_str(json.dumps(value))


def llama3():
    tokenizer = train_byte_level(split_then_bytes(LLAMA3_PATTERN), ignore_merges=True)
    tokenizer = add_unreachable(tokenizer, "harbour")
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"])
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    template = processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A $B:1",
                                             special_tokens=[("<|begin_of_text|>", begin)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), template])
    return tokenizer


def qwen2():
    tokenizer = train_byte_level(split_then_bytes(QWEN2_PATTERN), normalizers.NFC())
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("</tool_call>", normalized=False)])
    return tokenizer


def smollm():
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer = train_byte_level(pre_tokenizers.Sequence([digits, byte_level()]))
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    return tokenizer


def added_tokens():
    """Every flag of an added token, over a prefix space and NFC."""
    tokenizer = train_byte_level(byte_level(add_prefix_space=True), normalizers.NFC())
    tokenizer.add_special_tokens([AddedToken("<l>", lstrip=True), AddedToken("<r>", rstrip=True),
                                  AddedToken("<both>", lstrip=True, rstrip=True), AddedToken("<a>"),
                                  AddedToken("<a><b>"), AddedToken("<|endoftext|>")])
    tokenizer.add_tokens([AddedToken("door", single_word=True), AddedToken("caf\u00e9!", normalized=True),
                          AddedToken("<tool_call>", lstrip=True, single_word=True)])
    return tokenizer


def train_sentencepiece():
    """As Llama 2 was trained: BPE, byte fallback, digits apart, a space put in front, nothing normalised."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TRAINING.splitlines()), model_writer=out, model_type="bpe", vocab_size=680,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True,
        allow_whitespace_only_pieces=True, character_coverage=0.98, num_threads=1, unk_id=0, bos_id=1, eos_id=2,
        pad_id=-1, minloglevel=2)
    return out.getvalue()


def bpe_of_sentencepiece(data):
    """The same vocabulary and merges for the tokenizers package: a merge for each way to cut a piece into two."""
    model = sentencepiece.SentencePieceProcessor(model_proto=data)
    vocab = {model.id_to_piece(i): i for i in range(model.get_piece_size())}
    special = {i for i in vocab.values() if model.is_control(i) or model.is_unknown(i) or model.is_byte(i)}
    merges = []
    for piece, rank in vocab.items():
        cuts = [] if rank in special else [(piece[:n], piece[n:]) for n in range(1, len(piece))]
        known = [(vocab[a], vocab[b], a, b) for a, b in cuts if a in vocab and b in vocab]
        merges += [(a, b) for _, _, a, b in sorted(known)]
    return models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)


def sentencepiece_like(data):
    tokenizer = Tokenizer(bpe_of_sentencepiece(data))
    tokenizer.add_special_tokens([AddedToken(t, normalized=False) for t in ("<unk>", "<s>", "</s>")])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1",
                                                             special_tokens=[("<s>", 1)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    return tokenizer


def llama2(data):
    tokenizer = sentencepiece_like(data)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    return tokenizer


def llama2_metaspace(data):
    tokenizer = sentencepiece_like(data)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("\u2581", prepend_scheme="first", split=False)
    return tokenizer


def write_json(path, value):
    """ASCII, one entry a line."""
    path.write_text("[\n" + ",\n".join(json.dumps(entry) for entry in value) + "\n]\n")


def awkward_ids(encode, size, added):
    """Prefixes that end inside a character, and one token of each kind alone."""
    lists = [[], [0], [size - 1]] + [[i] for i in added] + [[i, 40, i] for i in added]
    for name in ("emoji_zwj", "chinese", "combining", "nul", "two_leading_spaces"):
        ids = encode(TEXTS[name])
        lists += [ids[:n] for n in range(1, len(ids), 3)] + [ids[1:], ids[::-1]]
    return [ids for n, ids in enumerate(lists) if ids not in lists[:n]]


def save_old_merges(tokenizer, path):
    """Merges as "a b" strings, the way files looked before 2024; else as pairs."""
    value = json.loads(tokenizer.to_str())
    value["model"]["merges"] = [" ".join(pair) for pair in value["model"]["merges"]]
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def write_tokenizer(directory, tokenizer, old_merges=False):
    directory.mkdir(parents=True)
    path = directory / "tokenizer.json"
    save_old_merges(tokenizer, path) if old_merges else path.write_text(tokenizer.to_str() + "\n", encoding="utf-8")
    tokenizer = Tokenizer.from_file(str(path))

    def encode(text, special=False):
        return tokenizer.encode(text, add_special_tokens=special).ids
    write_json(directory / "vectors.json", [
        {"name": name, "text": text, "ids": encode(text), "ids_special": encode(text, True),
         "decoded": tokenizer.decode(encode(text), skip_special_tokens=False)} for name, text in TEXTS.items()])
    lists = awkward_ids(encode, tokenizer.get_vocab_size(), sorted(tokenizer.get_added_tokens_decoder()))
    write_json(directory / "decode_vectors.json", [
        {"ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False),
         "decoded_skip": tokenizer.decode(ids, skip_special_tokens=True)} for ids in lists])
    return {name: encode(text) for name, text in TEXTS.items()}


def encode_parts(model, text):
    """As transformers takes a model of its own: the library encodes what lies between control tokens."""
    ids = []
    for part in re.split("(<unk>|<s>|</s>)", text):
        special = part in CONTROL
        ids += [CONTROL.index(part)] if special else model.encode(part) if part else []
    return ids


def decode_parts(model, ids, skip=False):
    """Only a text that begins with pieces loses the space put in front of it."""
    text, run, front = "", [], []
    for i in [*ids, None]:
        if i is not None and (skip or i >= len(CONTROL)):
            run += [i] if i >= len(CONTROL) else []
            continue
        text += model.decode(front + run)[len(front):] if run else ""
        text, run, front = text + (CONTROL[i] if i is not None else ""), [], [model.piece_to_id("a")]
    return text


def write_sentencepiece(directory, data):
    directory.mkdir(parents=True)
    (directory / "tokenizer.model").write_bytes(data)
    model = sentencepiece.SentencePieceProcessor(model_proto=data)
    ids = {name: encode_parts(model, text) for name, text in TEXTS.items()}
    write_json(directory / "vectors.json", [
        {"name": name, "text": text, "ids": ids[name], "ids_special": [1, *ids[name]],
         "decoded": decode_parts(model, ids[name])} for name, text in TEXTS.items()])
    lists = awkward_ids(model.encode, model.get_piece_size(), [0, 1, 2])
    write_json(directory / "decode_vectors.json", [
        {"ids": i, "decoded": decode_parts(model, i), "decoded_skip": decode_parts(model, i, True)} for i in lists])
    return ids


def write_all(root):
    if root.exists():
        shutil.rmtree(root)
    for make in (gpt2, llama3, qwen2, smollm, added_tokens):
        write_tokenizer(root / make.__name__, make(), old_merges=make is gpt2)
    data = train_sentencepiece()
    ids = write_sentencepiece(root / "sentencepiece", data)
    for make in (llama2, llama2_metaspace):
        other = write_tokenizer(root / make.__name__, make(data), old_merges=make is llama2)
        differing = [name for name in TEXTS if other[name] != ids[name]]
        print(f"{make.__name__}: {len(TEXTS) - len(differing)} of {len(TEXTS)} texts as SentencePiece; "
              f"not {', '.join(differing)}")
    manifest.write(root, {"tokenizers": tokenizers.__version__, "sentencepiece": sentencepiece.__version__})


def check(root):
    bad, wanted = manifest.differences(root), manifest.read(root)
    with tempfile.TemporaryDirectory() as scratch:
        write_all(Path(scratch) / "tokenizers")
        fresh = manifest.hash_tree(Path(scratch) / "tokenizers")
    bad += [f"{name}: regenerating gives other bytes" for name in sorted(wanted.keys() | fresh.keys())
            if wanted.get(name) != fresh.get(name)]
    print("\n".join(bad) if bad else f"{len(wanted)} files as in {manifest.NAME}")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, default=HERE / "tokenizers")
    options = parser.parse_args()
    if options.check:
        return check(options.out)
    write_all(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
