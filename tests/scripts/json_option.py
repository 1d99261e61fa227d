#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""--json of every subcommand: standard output is exactly one JSON value, errors are in it and on standard error, exit
codes are those of the manual's page Command line. KVLAB names the program."""
import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KVLAB = os.environ["KVLAB"]
FAILURES = []
DONE = set()     # subcommands that ended well
WITHOUT_QT = re.search(r"^(.*): this program was built without Qt", subprocess.run(
    [KVLAB, "--help"], capture_output=True, text=True).stdout, re.M)
ANY = object()   # any error


def program(*args, **more):
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    return subprocess.run([KVLAB, *args], capture_output=True, stdin=subprocess.DEVNULL, env=env, timeout=120, **more)


def expect(holds, name, what):
    if not holds:
        FAILURES.append(name)
        print(f"{name}: {what}")


def agrees(wanted, got):
    try:
        return wanted(got) if callable(wanted) else got == wanted
    except (AttributeError, KeyError, TypeError):
        return False


def check(name, code, /, *args, error=None, said=None, **fields):
    """Runs the program with --json behind `args`. error: the code in the value; said: must be on standard error; fields:
    members of the value, or functions of them. Returns the value."""
    ran = program(*args, "--json")
    told = ran.stderr.decode(errors="replace")
    expect(ran.returncode == code, name, f"exit {ran.returncode}, expected {code}: {told}")
    try:
        value = json.loads(ran.stdout)
    except ValueError as why:
        expect(False, name, f"standard output is no JSON value ({why}): {ran.stdout[:300]!r}")
        return {}
    found = value.get("error") if isinstance(value, dict) else None
    wanted = found is not None if error is ANY else (found or {}).get("code") == error
    expect(wanted, name, f"the error is {found}, expected {error}")
    if found and code in (2, 3):
        expect(all(isinstance(found.get(part), str) for part in ("what", "why", "remedy")), name, f"lacks a part: {found}")
    expect(("kvlab: error: " in told) == (error is not None), name, f"standard error: {told}")
    expect(said is None or said in told, name, f"no {said!r} on standard error: {told}")
    for field, wanted in fields.items():
        got = value.get(field) if isinstance(value, dict) else None
        expect(agrees(wanted, got), name, f"{field} is {got!r}")
    if code == 0:
        DONE.add(args[0])
    return value


def some(value):
    return bool(value)


def lists_and_models(work):
    info = check("info", 0, "info", model=some, backends=some)
    to_file = program("info", "--json", str(work / "info.json"))
    expect(json.loads((work / "info.json").read_bytes()).get("model") == info.get("model"), "info FILE", "another value")
    expect(b"KV cache" in to_file.stdout, "info FILE", "the text is missing on standard output")
    check("info refused", 3, "info", "--model", "/nowhere", error=ANY)
    check("info bytes", 3, "info", "--model", b"/\xff\xfe", error=ANY)
    rows = check("list", 0, "list", "layouts")
    expect(any(row["id"] == "indirection" for row in rows), "list", rows)
    expect(json.loads(program("list", "--json", "layouts").stdout) == rows, "list --json layouts", "another value")
    check("list refused", 2, "list", "frobs", error="usage")
    check("list both", 2, "list", "layouts", "--markdown", error="usage")
    names = [row["name"] for row in check("model list", 0, "model", "list")]
    expect("good" in names, "model list", names)
    path = str(work / "data/kvlab/models/good/model.bin")
    check("model get", 0, "model", "get", "good", name="good", path=path, fetched=True)
    check("model remove", 0, "model", "remove", "good", name="good", path=path, fetched=False)
    check("model gone", 3, "model", "remove", "good", error="not_fetched")
    check("model unknown", 2, "model", "get", "goof", error="unknown_model")


def usage_and_files(work):
    check("unknown verb", 2, "frobnicate", error="usage")
    check("unknown option", 2, "bench", "--frob", error="usage")
    check("unknown level", 2, "info", "--log", "loud", error="usage")
    check("unknown key", 2, "info", "--set", "frobnicate=1", error="usage")
    if not WITHOUT_QT:
        check("gui", 2, "gui", error="usage")
    refused = program("info", "--model", "/nowhere", "--json", str(work / "refused.json"))
    expect(json.loads((work / "refused.json").read_bytes())["error"]["what"] in refused.stderr.decode() and
           refused.returncode == 3 and not refused.stdout, "refused FILE", refused)
    nowhere = program("list", "layouts", "--json", "/nowhere/list.json")
    expect(nowhere.returncode == 3 and b"/nowhere/list.json was not written" in nowhere.stderr, "no folder", nowhere)
    with open("/dev/full", "wb") as full:
        ran = subprocess.run([KVLAB, "list", "layouts", "--json"], stdout=full, stderr=subprocess.PIPE)
    expect(ran.returncode == 3 and b"the output was not written" in ran.stderr, "full disk", ran)
    ran = subprocess.run(f'"{KVLAB}" list layouts --json 2>&-', shell=True, stdout=subprocess.PIPE)
    expect(ran.returncode == 0 and json.loads(ran.stdout), "no standard error", ran)


def windowless(work):
    for words in ("run", "x.js"), ("test", "x"):
        check(f"{words[0]} without Qt", 3, *words, error="unsupported", said="built without Qt")


def scripts(work):
    def js(name, text):
        (work / name).write_text(text)
        return str(work / name)

    check("run", 0, "run", js("ok.js", 'log("hello", 2); log("there")'), ok=True, log=["hello 2", "there"], said="hello 2")
    check("run fails", 1, "run", js("fails.js", 'log("one");\nexpect(false, "two")'), error="expectation_failed", ok=False,
          log=["one"], line=2, file=lambda name: name.endswith("fails.js"), said="fails.js:2: ")
    check("run throws", 1, "run", js("throws.js", "frob()"), error="script_error", ok=False, line=1)
    late = check("run limit", 1, "run", js("loop.js", "for (;;) {}"), "--time-limit", "0.5", error="script_error", ok=False)
    expect("time limit" in late.get("error", {}).get("what", ""), "run limit", late)
    check("run refused", 3, "run", js("model.js", 'lab.open({model: "/nowhere"})'), error=ANY, ok=False, line=1)
    check("run nothing", 3, "run", str(work / "none.js"), error="unreadable_file", ok=False)
    (work / "t").mkdir()
    js("t/a.test.js", 'test("good", () => log("said")); test("bad", () => expect(false, "two"))')
    out = str(work / "o")
    value = check("test", 1, "test", str(work / "t"), "--out", out, error="expectation_failed", out=out, passed=1, failed=1,
                  said="FAILED")
    good, bad = value.get("tests", [{}, {}])
    expect((good.get("ok"), good.get("log"), good.get("file")) == (True, ["said"], "a.test.js"), "test", good)
    expect((bad.get("ok"), bad.get("code")) == (False, "expectation_failed") and "two" in bad["message"], "test", bad)
    check("test good", 0, "test", str(work / "t"), "--out", out, "--filter", "good", passed=1, failed=0)
    check("test none", 2, "test", str(work / "none"), error="usage")


def compare(work):
    """A cache of zeros, as vLLM's ExampleConnector would write it: it is explained, and a refused one is not there."""
    folder = work / "zeros"
    folder.mkdir()
    for layer in range(4):  # of the demo model: 2 heads of 32 values
        shape = [5, 2, 64]
        bytes_ = 4 * shape[0] * shape[1] * shape[2]
        header = json.dumps({"kv_cache": {"dtype": "F32", "shape": shape, "data_offsets": [0, bytes_]}}).encode()
        (folder / f"model.layers.{layer}.self_attn.attn.safetensors").write_bytes(
            struct.pack("<Q", len(header)) + header + bytes(bytes_))
    ids = "5,6,7,8,9"
    value = check("compare", 1, "compare", str(folder), "--ids", ids, "--model", "demo", outcome="explained",
                  causes=lambda all: [one["kind"] for one in all] == ["zero_rows"], layers=some, ids=[5, 6, 7, 8, 9])
    (work / "former.json").write_text(json.dumps(value))
    check("compare baseline", 0, "compare", str(folder), "--ids", ids, "--baseline", str(work / "former.json"), "--model",
          "demo", no_worse=True)
    check("compare refused", 3, "compare", str(work / "none"), "--model", "demo", error=ANY)


def measurements(work):
    text = str(work / "text.txt")
    (work / "text.txt").write_text(" ".join(f"sentence {i} of the text." for i in range(200)))
    check("perplexity", 0, "perplexity", "--model", "demo", "--text", text, "--tokens", "64", perplexity=some,
          nll_error=some, losses=lambda all: len(all) == 64)
    check("perplexity refused", 3, "perplexity", "--text", str(work / "none.txt"), error="unreadable_file")
    check("check", 0, "check", "fork", "--model", "demo", model="demo", tests=lambda all: [t["id"] for t in all] == ["fork"])
    check("check refused", 2, "check", "frob", "--model", "demo", error="usage")
    compare(work)
    check("bench", 0, "bench", "tick", "--quick", version=some, backends=some, rows=some, said="probes_sum_ratio")
    check("bench refused", 2, "bench", "frobs", error="usage")
    bug = json.loads(program("list", "bugs", "--json").stdout)[0]["id"]
    cases = check("clinic", 0, "clinic", bug)
    expect([one["bug"] for one in cases] == [bug] and cases[0]["caught"], "clinic", cases)
    check("clinic blind", 0, "clinic", "--blind", "3", seed=3, script=some, bug=None)
    check("clinic revealed", 0, "clinic", "--blind", "3", "--reveal", bug=some, check=some)
    check("clinic refused", 2, "clinic", "frobs", error="usage")
    capture = str(HERE.parent / "data/captures/edits.kvcap")
    check("replay", 0, "replay", capture, ok=True, steps=some)
    check("replay refused", 3, "replay", str(work / "none.kvcap"), error=ANY)


def sweeps_and_trainings(work):
    spec = {"name": "s", "base": {"model": "synthetic:tiny", "capacity": 64},
            "axes": [{"name": "rows", "key": "kv", "values": [{"k": "f16"}, {"k": "int8"}]}],
            "prompts": [{"name": "p", "set": {"stories": [{"ids": [5, 6, 7, 8, 9], "questions": [
                {"ids": [4], "reply_ids": [3, 2], "deciding": 1, "needle_at": 2}]}]}}]}
    (work / "spec.json").write_text(json.dumps(spec))
    (work / "small.json").write_text(json.dumps({**spec, "base": {"model": "synthetic:tiny", "capacity": 2}}))
    out = str(work / "s")
    check("sweep", 0, "sweep", str(work / "spec.json"), "--out", out, name="spec", out=out, cells=2, found=0, failed=0,
          points=some, rows=lambda rows: len(rows) == 2)
    check("sweep again", 2, "sweep", str(work / "spec.json"), "--out", out, error="sweep_exists")
    check("sweep cell", 0, "sweep", out, "--cell", "1", cell=1, question=0, reported=None, now=None, tokens=some)
    check("sweep fails", 1, "sweep", str(work / "small.json"), "--out", str(work / "s2"), error="failed_cells", failed=2,
          rows=lambda rows: all("error" in row for row in rows))
    # An interpreter that acts as if it had PyTorch; what it prints is no part of the value.
    fake = work / "python"
    fake.write_text('#!/bin/sh\n[ "$1" = -c ] && exit 0\necho trained\n'
                    'printf \'{"r2": 0.5}\' >"$3/report.json"; echo weights >"$5"; exit ${FAKE_CODE:-0}\n')
    fake.chmod(0o755)
    train = ["train", "gates", "--model", "synthetic:tiny", "--text", str(work / "text.txt"), "--window", "128",
             "--work", str(work / "w"), "--out", str(work / "gates.safetensors"), "--python", str(fake)]
    check("train records", 0, *train, "--record-only", what="gates", windows=some, found=0, tokens=some, out=None)
    check("train again", 2, *train, error="train_exists")
    check("train", 0, *train, "--resume", out=str(work / "gates.safetensors"), report={"r2": 0.5}, found=some,
          said="trained")
    os.environ["FAKE_CODE"] = "9"
    check("train fails", 1, *train, "--resume", error="training_failed", said="exit code 9")
    check("train refused", 3, *train[:-1], "/nowhere/python", "--resume", error="no_pytorch")


def models_of_the_test(work):
    """A model of the list whose file is there, so that nothing is fetched."""
    models = work / "data/kvlab/models"
    (models / "good").mkdir(parents=True)
    (models / "good/model.bin").write_bytes(b"content")
    entry = {"title": "Test", "licence": "none", "file": "model.bin", "bytes": 7,
             "sha256": hashlib.sha256(b"content").hexdigest(),
             "packages": [{"name": "kvlab-test-lost", "version": "1.0", "bytes": 9, "member": "data.bin"}]}
    (models / "models.json").write_text(json.dumps({"good": entry}))
    os.environ["XDG_DATA_HOME"] = str(work / "data")


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        models_of_the_test(work)
        for part in (lists_and_models, usage_and_files, windowless if WITHOUT_QT else scripts, measurements, sweeps_and_trainings):
            part(work)
    page = (HERE.parents[1] / "resources/manual/command-line.md").read_text()
    known = {line.split()[1] for line in page.splitlines() if line.startswith("    kvlab ")} - {"[gui]"}
    known -= set(WITHOUT_QT[1].split(", ")) if WITHOUT_QT else set()
    if not FAILURES:
        expect(DONE == known, "subcommands", f"not tried: {known ^ DONE}")
    print(f"{len(FAILURES)} failures" if FAILURES else "json_option: all as promised")
    return bool(FAILURES)


sys.exit(main())
