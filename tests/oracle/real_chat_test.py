# SPDX-License-Identifier: Apache-2.0
"""Conversations by `kvlab run` on GGUF files that people have, against transformers' apply_chat_template.

    python real_chat_test.py KVLAB

The files lie where real_tokens_test.py looks for them. Text and token ids have to be the same; a file without a template
is refused with bad_template.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import real_tokens_test
from chat_templates import CONVERSATIONS


def plain(messages):
    return all(isinstance(m["content"], str) and m["role"] in ("system", "user", "assistant") for m in messages)


def expected(path):
    """[{messages, prompt, text, ids}], or nothing where the file has no template."""
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    backend = real_tokens_test.reference(path)
    if not tokenizer.chat_template:
        return []
    out = []
    for messages in filter(plain, CONVERSATIONS):
        for prompt in (True, False):
            text = tokenizer.apply_chat_template(messages, add_generation_prompt=prompt, tokenize=False)
            out.append({"messages": messages, "prompt": prompt, "text": text,
                        "ids": backend.encode(text, add_special_tokens=False).ids})
    return out


SCRIPT = """const cases = %s;
const s = lab.open({ model: %s, capacity: 1024 });
if (cases.length === 0) {
  const e = expectError(() => s.chat([{ role: "user", content: "x" }]), "bad_template");
  log("REFUSED " + JSON.stringify(e ? e.remedy : ""));
}
for (const c of cases) {
  const reply = s.chat(c.messages, { addGenerationPrompt: c.prompt });
  log("CHAT " + JSON.stringify([reply.text, s.tokens()]));
  s.undo();
}
"""


def compare(kvlab, name, path):
    wanted = expected(path)
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "chat.js"
        script.write_text(SCRIPT % (json.dumps(wanted), json.dumps(str(path))))
        run = subprocess.run([kvlab, "run", str(script)], capture_output=True, text=True, check=False)
    if run.returncode and "is not an architecture known here" in run.stderr:
        print(f"{name}: not compared, kvlab does not open the model")
        return 0
    if run.returncode:
        print(run.stderr[-2000:])
        return 1
    if not wanted:
        print(f"{name}: the file has no template, and chat is refused")
        return 0 if "REFUSED" in run.stdout else 1
    ours = [json.loads(line.split("CHAT ", 1)[1]) for line in run.stdout.splitlines() if "CHAT " in line]
    bad = [c for c, (text, ids) in zip(wanted, ours) if text != c["text"] or ids != c["ids"]]
    for c in bad[:3]:
        print(f"{name}: {c['messages']!r} differs")
    print(f"{name}: {len(wanted) - len(bad)} of {len(wanted)} conversations have the text and the ids of transformers")
    return len(bad) + abs(len(wanted) - len(ours))


def main():
    found = list(real_tokens_test.files())
    if not found:
        print("skipped: no GGUF file of smollm2-135m or gemma3-270m under KVLAB_REAL_MODELS or XDG_DATA_HOME/kvlab/models")
        return 77
    try:
        from gguf import GGUFReader  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    return 1 if sum(compare(sys.argv[1], name, path) for name, path in found) else 0


if __name__ == "__main__":
    sys.exit(main())
