# SPDX-License-Identifier: Apache-2.0
"""The rows that kvlab's presets keep, against kvpress itself: every press, model, length and ratio of kvpress_rows.py.

    python kept_rows_test.py KVLAB        fixtures and the demo model
    python kept_rows_test.py KVLAB real   GGUF files that people have (real_model_test.py), 600 tokens, windows of 64

Prints lists, equal ones and ties by policy. Exit status 77, with one line that says why, where kvpress or a file is
missing."""
import importlib.util
import itertools
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def keep(kvlab, cases):
    """For each case ranges of rows, [layers][KV heads]."""
    from kvpress_rows import ranges
    with tempfile.TemporaryDirectory() as scratch:
        given = Path(scratch) / "cases.json"
        given.write_text(json.dumps(cases))
        run = subprocess.run([kvlab, "run", str(HERE / "kept_rows.js"), "--", str(given)], capture_output=True, text=True,
                             check=False)
    if run.returncode:
        raise SystemExit(f"kvlab run ended with {run.returncode}: {(run.stdout + run.stderr)[-2000:]}")
    out = []
    for line in run.stdout.splitlines():
        if "KEPT " in line:
            layers = {}
            for layer, _, rows in json.loads(line.split("KEPT ", 1)[1]):
                layers.setdefault(layer, []).append(ranges(rows))
            out.append([layers[layer] for layer in sorted(layers)])
    return out


def compare(kvlab, wanted, model):
    """Lines about rows that differ. model: the path that kvlab opens for a case. Prints a line for each preset."""
    from kvpress_rows import differences
    found = keep(kvlab, [{"manifest": {"model": model(one), "policy": one["policy"]}, "ids": one["ids"]} for one in wanted])
    lists, ties, bad = Counter(), Counter(), []
    for one, rows in zip(wanted, found, strict=True):
        by_head = [heads * len(one["kept"][layer]) if len(heads) == 1 else heads for layer, heads in enumerate(rows)]
        wrong, tied, count = differences(one, by_head)
        name = f"{one['policy']['name']}:preset={one['policy']['preset']},ratio={one['policy']['ratio']}"
        lists[name] += count
        ties[name] += tied
        bad += wrong
    for name, count in sorted(lists.items()):
        wrong = sum(f'"{name.split(":")[0]}"' in line and f'"ratio": {name.split("=")[-1]}' in line for line in bad)
        print(f"{name}: {count} lists, {count - wrong - ties[name]} equal, {ties[name]} up to ties, {wrong} wrong")
    return bad


def fixtures(kvlab):
    import kvpress_rows as rows
    bad = []
    for name in rows.MODELS:
        print(name)
        every = itertools.product(rows.LENGTHS, rows.PRESSES, rows.RATIOS)
        cases = [rows.fixture(name, length, press, ratio, 7 * at + 1) for at, (length, press, ratio) in enumerate(every)]
        bad += compare(kvlab, cases, lambda one: "demo" if one["model"] == "demo" else str(HERE / "models" / one["model"]))
    return bad


def real(kvlab):
    import kvpress_rows as rows
    from real_model_test import TEXT, files, load
    bad, found = [], [pair for pair in files() if "smollm" in pair[0].lower()]
    if not found:
        skip("no GGUF file of SmolLM2, see kvlab model get")
    for name, path in found:
        print(name)
        ids = tokens(kvlab, path, TEXT)
        models = {}

        def model(attention):
            if not models:
                models["any"] = load(path)
            models["any"].set_attn_implementation(attention)
            return models["any"]

        cases = [rows.case(name, model, ids, press, ratio) for press in rows.REAL for ratio in rows.RATIOS]
        bad += compare(kvlab, cases, lambda one, path=path: str(path))
    return bad


def tokens(kvlab, path, text):
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "tokens.js"
        script.write_text(f"""const s = lab.open({{ model: {json.dumps(str(path))}, capacity: 8 }});
log("IDS " + JSON.stringify(s.tokenise({json.dumps(text.read_text()[:6000])}).slice(0, 600)));
""")
        run = subprocess.run([kvlab, "run", str(script)], capture_output=True, text=True, check=True)
    return next(json.loads(line.split("IDS ", 1)[1]) for line in run.stdout.splitlines() if "IDS " in line)


def main():
    if len(sys.argv) < 2:
        skip("give the path of kvlab")
    of_files = sys.argv[2:] == ["real"]
    needed = ["kvpress", "torch", "transformers"] + ["gguf"] * of_files
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        skip(f"needs {' and '.join(missing)} (pip install kvpress==0.5.5 transformers==5.2.0 torch gguf)")
    bad = (real if of_files else fixtures)(sys.argv[1])
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
