#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants the faults of tests/planted/faults in a copy of the tree, each behind its number.

plant.py --check           every anchor stands in the source exactly once
plant.py --list            number, file and title of each fault
plant.py FOLDER            makes the copy, or brings it up to date

A fault is a block of a file in faults/: a line `# NUMBER FILE: title`, then pairs of a piece of the source and what
takes its place, between <<<<, ==== and >>>>. What takes its place asks planted(NUMBER), so that all faults stand in one
build. Several faults may change one piece: each pair is applied to what the pairs before it have left.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HEAD = re.compile(r"^# (\d+) (\S+): (.+)$")
INCLUDE = '#include "core/api/planted.h"\n'


class Fault:
    def __init__(self, number, path, title):
        self.number, self.path, self.title, self.pairs = int(number), path, title, []


def read_faults():
    faults = []
    for file in sorted((HERE / "faults").glob("*.txt")):
        side, texts = None, None
        for line in file.read_text().splitlines(keepends=True):
            mark = line.rstrip("\n")
            if mark == "<<<<":
                side, texts = 0, ["", ""]
            elif mark == "====" and side == 0:
                side = 1
            elif mark == ">>>>":
                faults[-1].pairs.append(tuple(texts))
                side = None
            elif side is not None:
                texts[side] += line
            elif HEAD.match(mark):
                faults.append(Fault(*HEAD.match(mark).groups()))
    return sorted(faults, key=lambda fault: fault.number)


def planted(faults):
    """The changed files, and what is wrong with the anchors."""
    files, wrong = {}, []
    numbers = [fault.number for fault in faults]
    wrong += [f"fault {n} stands twice" for n in set(numbers) if numbers.count(n) > 1]
    for fault in faults:
        text = files.get(fault.path) or (ROOT / fault.path).read_text()
        for piece, other in fault.pairs:
            if text.count(piece) != 1:
                wrong.append(f"fault {fault.number}: {fault.path} has its piece {text.count(piece)} times:\n{piece}")
            if f"planted({fault.number})" not in other:
                wrong.append(f"fault {fault.number}: what takes the place of its piece does not ask for the number")
            text = text.replace(piece, other, 1)
        files[fault.path] = text
    return files, wrong


def with_include(text):
    return text.replace("#include", INCLUDE + "#include", 1)


def write(path, text):
    if path.exists() and path.read_bytes() == text.encode():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def copy_to(folder, files):
    """Files that are the same keep their times, so that a second build is short."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "CMakeLists.txt",
                            "CMakePresets.json", "core", "kernels", "resources", "tests/planted"],
                           check=True, capture_output=True, text=True).stdout.split("\n")
    for name in filter(None, names):
        if not (ROOT / name).is_file():
            continue
        to = folder / name
        if name in files:
            write(to, with_include(files[name]))
        elif not to.exists() or to.read_bytes() != (ROOT / name).read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes((ROOT / name).read_bytes())
    kept = set(names) | {"core/api/planted.h"}
    for old in folder.glob("*/**/*"):  # files of an earlier copy
        name = old.relative_to(folder).as_posix()
        if old.is_file() and not name.startswith("build/") and name not in kept:
            old.unlink()
    write(folder / "core/api/planted.h", (HERE / "planted.h").read_text())
    listed = (ROOT / "CMakeLists.txt").read_text() + "include(tests/planted/planted.cmake)\n"
    write(folder / "CMakeLists.txt", listed)


def main():
    faults = read_faults()
    files, wrong = planted(faults)
    if wrong:
        sys.exit("\n".join(wrong))
    if sys.argv[1:] == ["--list"]:
        for fault in faults:
            print(f"{fault.number}\t{fault.path}\t{fault.title}")
    elif sys.argv[1:] == ["--check"]:
        print(f"{len(faults)} faults, {len(files)} files")
    elif len(sys.argv) == 2:
        copy_to(pathlib.Path(sys.argv[1]), files)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
