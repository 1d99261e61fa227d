# SPDX-License-Identifier: Apache-2.0
"""Token ids of 2 000 strings by `kvlab run` on GGUF files that people have, against transformers' tokenizer of the file.

    python real_tokens_test.py KVLAB

For each NAME below the file lies in $KVLAB_REAL_MODELS/NAME/ or $XDG_DATA_HOME/kvlab/models/NAME/. Exit status 77, with
one line that says why, where there is no such file or a package is missing.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("smollm2-135m", "gemma3-270m")
COUNT = 2000
WORDS = ("the", "The", "harbour", "key", "naïve", "Straße", "ключ", "где", "κλειδί", "مفتاح", "열쇠", "कुंजी", "กุญแจ", "don't",
         "I'M", "it's", "x", "def", "return", "0x1F", "3.14159", "1,000,000", "2026", "½", "²", "٣", "Ⅷ", "１２", "https://a.b/c?d=e")
CJK = "鍵は庭の石の下にあります。银色的钥匙在哪里？港町ゲート電気鋼鐵龍"
EMOJI = ("😀", "👍", "👩‍👩‍👧", "🏳️‍🌈", "👋🏽", "❤️", "🇩🇪", "1️⃣", "🫠", "🧑‍🚀")
SPACES = (" ", "  ", "   ", " " * 7, " " * 31, " " * 33, " " * 70, "\n", "\n\n", "\n" * 5, "\n" * 34, "\t", "\t\t\t", "\r\n", " \n ",
          "\u00a0", "\u3000", "\u2003", "\u200b", "\ufeff", "\u2581", "\u2581\u2581")
CODE = ("for (int i = 0; i < n; ++i) {\n\ttotal += values[i];\n}", "    if x != y:\n        return {'a': [1, 2]}\n", "<b>x</b>",
        "SELECT * FROM t WHERE a >= 10;", "#include <vector>\n", "a->b::c<d>&&e||!f", "`$HOME/x`", "\\frac{1}{2}", "<table><tr><td>")
ODD = ("\x00", "\x1b[0m", "\u0301", "e\u0301", "\ufffd", "\U0010ffff", "<0x0A>", "\u0120\u010a", "\u202e", "é" * 9, "ﬁ", "Å")


def strings(special, seed):
    """Every token of `special` alone and between words, then draws from all lists."""
    draw = random.Random(seed)
    out = ["", *SPACES, *WORDS, *EMOJI, *CODE, *ODD]
    out += [s for token in special for s in (token, f"a {token} b", f"{token}\n{token}")]
    lists = [WORDS, tuple(CJK), EMOJI, SPACES, CODE, ODD, tuple(special) or ("<s>",)]
    while len(out) < COUNT:
        parts = []
        for _ in range(draw.randint(1, 12)):
            kind = draw.choices(range(len(lists) + 1), weights=(8, 6, 2, 5, 2, 1, 1, 3))[0]
            if kind < len(lists):
                parts.append(draw.choice(lists[kind]))
            else:  # any characters
                parts.append("".join(chr(draw.choice((draw.randint(32, 126), draw.randint(160, 0x2fff),
                                                      draw.randint(0x3000, 0xd7ff), draw.randint(0x1f300, 0x1faff))))
                                     for _ in range(draw.randint(1, 8))))
            if draw.random() < 0.5:
                parts.append(" ")
        out.append("".join(parts))
    return out[:COUNT]


def reference(path):
    """transformers' tokenizer of the file. SmolLM's own tokenizer.json sets digits apart, which transformers forgets."""
    from tokenizers import pre_tokenizers
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    backend = tokenizer.backend_tokenizer
    if path.parent.name == "smollm2-135m":
        backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                         pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return backend


def special_of(backend):
    added = backend.get_added_tokens_decoder().values()
    named = [t.content for t in added if t.special and "unused" not in t.content]
    return named[:20] + [t.content for t in added if not t.special][::9][:12]


def kvlab_ids(kvlab, path, texts):
    """For each text the ids, and the text that the ids are."""
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "tokens.js"
        script.write_text(f"""const s = lab.open({json.dumps({"model": str(path)})});
for (const text of {json.dumps(texts)}) {{
  const ids = s.tokenise(text);
  log("IDS " + JSON.stringify([ids, s.detokenise(ids)]));
}}
""")
        run = subprocess.run([kvlab, "run", str(script)], capture_output=True, text=True, check=False)
    if run.returncode and "is not an architecture known here" in run.stderr:
        return None
    if run.returncode:
        raise SystemExit(f"kvlab run ended with {run.returncode}: {run.stderr[-2000:]}")
    return [json.loads(line.split("IDS ", 1)[1]) for line in run.stdout.splitlines() if "IDS " in line]


def compare(name, path, ours_of):
    """The number of texts whose ids, or whose text again, differ."""
    backend = reference(path)
    texts = strings(special_of(backend), 11)
    ours = ours_of(path, texts)
    if ours is None:
        print(f"{name}: not compared, kvlab does not open the model")
        return 0
    if len(ours) != len(texts):
        raise SystemExit(f"{name}: {len(ours)} answers to {len(texts)} texts")
    bad = 0
    for text, (ids, again) in zip(texts, ours):
        theirs = backend.encode(text, add_special_tokens=False).ids
        if ids == theirs and again == backend.decode(theirs, skip_special_tokens=False):
            continue
        bad += 1
        if bad <= 5:
            print(f"{name}: {text!r}\n  kvlab        {ids} {again!r}\n  transformers {theirs}")
    print(f"{name}: {len(texts) - bad} of {len(texts)} texts have the ids of transformers")
    return bad


def files():
    roots = [os.environ.get("KVLAB_REAL_MODELS"),
             Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "kvlab/models"]
    for name in NAMES:
        for root in filter(None, roots):
            found = sorted(Path(root, name).glob("*.gguf"))
            if found:
                yield name, found[0]
                break


def main():
    found = list(files())
    if not found:
        print("skipped: no GGUF file of smollm2-135m or gemma3-270m under KVLAB_REAL_MODELS or XDG_DATA_HOME/kvlab/models")
        return 77
    try:
        from gguf import GGUFReader  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    bad = sum(compare(name, path, lambda p, texts: kvlab_ids(sys.argv[1], p, texts)) for name, path in found)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
