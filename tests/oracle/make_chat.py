# SPDX-License-Identifier: Apache-2.0
"""Writes tests/oracle/chat: what jinja2, set up by transformers, renders from the templates of chat_shapes.py.

    python make_chat.py           write the files and MANIFEST.json
    python make_chat.py --check   verify hashes, render again and compare byte for byte

families.json     {NAME: {template, cases: [{messages, add_generation_prompt, bos_token, eos_token, now, more, text, raised}]}}
                  text is null where jinja2 refuses; raised says whether the template's own raise_exception did it
expressions.json  [{source, text}]  on one short conversation
"""
import datetime
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import jinja2
import transformers
from transformers.utils import chat_template_utils

import manifest
from chat_shapes import FAMILIES
from chat_templates import CONVERSATIONS, EXPRESSIONS, MORE, SOURCES

HERE = Path(__file__).resolve().parent
NOW = 1_700_000_000
HELLO = [{"role": "user", "content": "Hi"}]


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(NOW, tz)


def compiled(template):
    return chat_template_utils._compile_jinja_template(template)


def render(template, messages, prompt, more):
    """(text or null, whether raise_exception was called)"""
    names = {"tools": None, "documents": None, "bos_token": "<s>", "eos_token": "</s>", **more}
    try:
        return template.render(messages=messages, add_generation_prompt=prompt, **names), False
    except jinja2.exceptions.TemplateRuntimeError:
        return None, False
    except jinja2.exceptions.TemplateError:
        return None, True
    except (TypeError, ValueError, ZeroDivisionError, AttributeError, KeyError, OverflowError):
        return None, False


def family(source):
    template = compiled(source)
    cases = []
    for n, messages in enumerate(CONVERSATIONS):
        for prompt in (True, False):
            for more in MORE[:1 if n % 3 else None]:
                text, raised = render(template, messages, prompt, more)
                cases.append({"messages": messages, "add_generation_prompt": prompt, "bos_token": "<s>",
                              "eos_token": "</s>", "now": NOW, "more": more, "text": text, "raised": raised})
    return {"template": source, "cases": cases}


def expression_sources():
    """A line holds expressions with | between, and | is a filter's too: every way to cut is tried by jinja2 itself."""
    for line in EXPRESSIONS.strip().splitlines():
        parts, at = line.split("|"), 0
        while at < len(parts):
            for count in (3, 2, 1):
                source = "{{ " + "|".join(parts[at:at + count]) + " }}"
                names = "|".join(parts[at + 1:at + count]).replace(" ", "")
                if count == 1 or all(is_filter(name) for name in names.split("|")):
                    yield source
                    at += count
                    break


def is_filter(text):
    return text.split("(")[0] in jinja2.filters.FILTERS


def expressions():
    out = []
    for source in [*expression_sources(), *SOURCES]:
        try:
            text, _ = render(compiled(source), HELLO, True, {})
        except jinja2.exceptions.TemplateError:
            text = None
        out.append({"source": source, "text": text})
    return [entry for n, entry in enumerate(out) if entry not in out[:n]]


def write_all(root):
    root.mkdir(parents=True, exist_ok=True)
    os.environ["TZ"] = "UTC"
    time.tzset()
    chat_template_utils.datetime = Clock
    families = {name: family(source) for name, source in FAMILIES.items()}
    (root / "families.json").write_text(json.dumps(families, separators=(",", ":")) + "\n")
    lines = expressions()
    (root / "expressions.json").write_text("[\n" + ",\n".join(json.dumps(entry) for entry in lines) + "\n]\n")
    manifest.write(root, {"jinja2": jinja2.__version__, "transformers": transformers.__version__})
    for name, made in families.items():
        texts = [case["text"] for case in made["cases"]]
        print(f"{name}: {len(texts)} conversations, {texts.count(None)} refused")
    print(f"{len(lines)} expressions, {sum(entry['text'] is None for entry in lines)} refused")


def check(root):
    bad, wanted = manifest.differences(root), manifest.read(root)
    with tempfile.TemporaryDirectory() as scratch:
        write_all(Path(scratch))
        fresh = manifest.hash_tree(Path(scratch))
    bad += [f"{name}: rendering again gives other bytes" for name in sorted(wanted.keys() | fresh.keys())
            if wanted.get(name) != fresh.get(name)]
    print("\n".join(bad) if bad else f"{len(wanted)} files as in {manifest.NAME}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(check(HERE / "chat") if "--check" in sys.argv else write_all(HERE / "chat"))
