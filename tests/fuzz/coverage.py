#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line coverage per parser file:  coverage.py SUMMARY.json LINES.txt MISSED.txt
SUMMARY and LINES are what llvm-cov export and show print; MISSED gets the lines never reached."""
import json
import os
import pathlib
import re
import sys

# The code that parses outside input; the rest of the library is compiled along and not its subject.
PARSERS = re.compile(r"^core/(api/(action|manifest|error)|model/files/(config|rope_config|safetensors|"
                     r"strict_json|json_fields|element)|model/tokens/\w+|"
                     r"files/(capture|cache_file|cache_hf|cache_native_read))\.(cpp|h)$")


def relative(name):
    """Below the repository; a compiler cache may have another folder's name for it."""
    name = os.path.normpath(name)
    return name[name.find("/core/") + 1:]


def main(summary, lines, missed):
    rows = []
    for entry in json.loads(pathlib.Path(summary).read_text())["data"][0]["files"]:
        name, count = relative(entry["filename"]), entry["summary"]["lines"]
        if PARSERS.match(name):
            rows.append((name, count["covered"], count["count"]))
    for name, covered, count in sorted(rows):
        print(f"{name:<44} {covered:>5} / {count:<5} {100 * covered / max(1, count):6.1f} %")
    covered, count = sum(r[1] for r in rows), sum(r[2] for r in rows)
    print(f"{'all':<44} {covered:>5} / {count:<5} {100 * covered / max(1, count):6.1f} %")
    name, out = "", []
    for line in pathlib.Path(lines).read_text(errors="replace").splitlines():
        if line.startswith("/") and line.endswith(":"):
            name = relative(line[:-1])
        elif PARSERS.match(name) and re.match(r" *\d+\| *0\|", line):
            number, text = line.split("|")[0].strip(), line.split("|", 2)[2]
            if text.strip() not in ("", "}", "};"):
                out.append(f"{name}:{number}: {text.strip()}")
    pathlib.Path(missed).write_text("\n".join(dict.fromkeys(out)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
