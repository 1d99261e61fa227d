# SPDX-License-Identifier: Apache-2.0
"""Writes tests/oracle/patterns/patterns.json: how the tokenizers package, whose expressions Oniguruma runs, cuts texts.

    python make_patterns.py

[{expression, text, pieces}]; pieces is null where Oniguruma refuses.
"""
import json
from pathlib import Path

from tokenizers import Regex, pre_tokenizers

HERE = Path(__file__).resolve().parent
KIMI = (r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
TEXTS = ["ab\u4f60\u597d cAF12\n\r\u00e91x2_ ", "  aab\n bbb\t\u4f60 [a]&-.*", "A\u00c9\u00e9 x\u00b2\u0663a\u0301b\u00a0\u2003z\u180e",
         "'S don't ABC abc 1234567\r\n\r\n", "\u4f60\u4eec\U00020000\u3002\u3001\u30fb\u30fc \u02bc\u17b4", "aaaa{,2} a{,} aaaaa", "Qa.E pL vh\x0b\x0c"]
EXPRESSIONS = [
    KIMI, LLAMA3,
    # classes in classes
    r"[a-c&&b-d]+", r"[^a-c&&b-d]+", r"[a[bc]]+", r"[a[^bc]]+", r"[^a[bc]]+", r"[a-z&&[^aeiou]&&[^x]]+", r"[a&&]", r"[&&a]",
    r"[a&b]+", r"[\p{L}&&[^\p{Han}]]+", r"[^\p{L}&&[^\p{Han}]]+", r"[\w&&\P{N}]+", r"[[:alpha:]_]+", r"[[:^alpha:]]+",
    r"[:alpha:]+", r"[]a]", r"[^]a]", r"[a-c-e]+", r"[\b]", r"[\S]+", r"[^\S]+", r"[^\S\n]+", r"[\H]+", r"[\W]+", r"[\w]+", r"[^\w]+",
    r"[.*+?(){}|^$]+", r"[-a]+", r"[a-]+", r"[\]\[&]+", r"[a-[b]]",
    # repetitions
    r"a{,2}", r"a{,2}?", r"a{2}?", r"a{2}+", r"a{1,2}+", r"a{2,}+", r"a{2,}?", r"a{1,2}?", r"a{2,1}", r"a{,}", r"a{x}", r"a+*",
    r"a**", r"a?+", r"a*+a", r"(?:ab)**", r"(?:a|b){2}?c",
    # escapes
    r"\h+", r"\H+", r"\v", r"\R", r"\X", r"\O", r"\N+", r"\Qa.\E", r"\l", r"\pL", r"\x41", r"\xe4\xbd\xa0", r"\x{4f60}", r"\u4f60",
    r"\o{101}", r"\101", r"\0", r"\e", r"\s+", r"\S+", r"\d+", r"\D+", r"\w+", r"\W+", r"\b\w", r"\B", r"\Ka", r"a\Kb", r"\Aa", r"\z",
    r"\Z", r"\G.", r"\cA", r"\y", r"\g<1>", r"(a)\1", r"(?<n>a)\k<n>", r"\xff", r"\u12",
    # properties
    r"\p{Han}+", r"\p{Katakana}+", r"\p{Common}+", r"\p{^L}+", r"\P{^L}+", r"\p{Letter}+", r"\p{Uppercase_Letter}", r"\p{word}+",
    r"\p{Alnum}+", r"\p{Punct}+", r"[[:punct:]]+", r"\p{Any}", r"\p{Emoji}", r"[[:graph:]]+", r"[[:print:]]+", r"[[:word:]]+",
    r"[[:space:]]+", r"[[:blank:]]+", r"[[:xdigit:]]+", r"\p{In_Basic_Latin}", r"\p{L&}",
    # groups
    r"(?m:.)+", r"(?m).+", r".+", r"a(?i)b|c", r"(?i:k|S)", r"(?i)ab(?-i)c", r"(?i:ss)", r"(?i:st)", r"(?i)[\p{Lu}]", r"(?i)\p{Lu}",
    r"(?#no)a", r"(?>a+)b", r"(?<=a)b", r"(?<!a)b", r"(?<=a|bb)c", r"(?<n>a)b", r"(?'n'a)b", r"(?s:.)", r"(?x: a b )", r"(?~ab)",
    r"(?(1)a|b)", r"(*FAIL)", r"(?P<n>a)", r"(?W:\w)", r"(?|a|b)", r"(?y{g})a", r"^a", r"a$", r"^", r"$", r"a||b", r"()", r"*a", r"(a", r"a)",
    r"[a", r"a]", "{", "}", "\\",
]


def pieces(expression, text):
    try:
        return [piece for piece, _ in pre_tokenizers.Split(Regex(expression), "isolated").pre_tokenize_str(text)]
    except Exception:  # pyo3 has no class of its own for what Oniguruma refuses
        return None


def main():
    out = [{"expression": expression, "text": text, "pieces": pieces(expression, text)}
           for expression in EXPRESSIONS for text in TEXTS]
    folder = HERE / "patterns"
    folder.mkdir(exist_ok=True)
    (folder / "patterns.json").write_text("[\n" + ",\n".join(json.dumps(one) for one in out) + "\n]\n")
    print(len(out), "cases")


if __name__ == "__main__":
    main()
