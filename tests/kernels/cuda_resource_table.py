#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuda_resource_table.py MODULE... [--update] compares what every kernel of the built CUDA module takes of a device, as
cuobjdump tells it, with simt/kernel_resources.inc: no kernel may need more registers or more of a stack, where spilled
registers go, and static shared memory has to be as the table says. --update writes the table anew. Exit code 77: there
is no cuobjdump. It comes with the CUDA toolkit, and with the package nvidia-cuda-cuobjdump of PyPI."""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).resolve().parent / "simt" / "kernel_resources.inc"
LINE = re.compile(r"^KVLAB_KERNEL\((\w+), (\d+), (\d+), (\d+)\)$", re.M)
# The table has the registers of this architecture, which every build without a card has. Others need other numbers,
# but never more than a block of threads can have: all kernels say how many threads that is (__launch_bounds__).
REGISTERS_OF = 90
# From sm_90 on cuobjdump counts the system's own bytes of a block with those of a kernel that has shared memory.
RESERVED = 1024
# Kernels that are there with KV_DEBUG_BOUNDS alone.
CHECKING = {"guardQueries", "guardRows"}


def cuobjdump():
    """The tool, or None."""
    places = [shutil.which("cuobjdump"), "/usr/local/cuda/bin/cuobjdump",
              *glob.glob(str(ROOT / "build/cuda/**/bin/cuobjdump"), recursive=True)]
    return next((one for one in places if one and os.path.exists(one)), None)


def name_of(mangled):
    """The last part of a mangled name, without its namespaces and arguments."""
    at, name = mangled.index("N") + 1 if mangled.startswith("_ZN") else 2, ""
    while digits := re.match(r"\d+", mangled[at:]):
        begin = at + digits.end()
        at = begin + int(digits.group())
        name = mangled[begin:at]
    return name


def used_by(said):
    """name -> [registers, stack, {static shared memory}], the most of all instances; registers as they are handed out,
    eight at a time, None where the module has none of that architecture."""
    used, arch = {}, 0
    for found, mangled, registers, stack, shared in re.findall(
            r"arch = sm_(\d+)|Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)", said):
        if found:
            arch = int(found)
            continue
        one = used.setdefault(name_of(mangled), [None, 0, set()])
        if arch == REGISTERS_OF:
            one[0] = max(one[0] or 0, (int(registers) + 7) // 8 * 8)
        one[1] = max(one[1], int(stack))
        one[2].add(max(int(shared) - (RESERVED if arch >= 90 else 0), 0))
    return used


def main():
    tool = cuobjdump()
    if not tool:
        print("skipped: no cuobjdump")
        return 77
    said = "".join(subprocess.run([tool, "--dump-resource-usage", one], capture_output=True, text=True, check=True).stdout
                   for one in sys.argv[1:] if one != "--update")
    used, text = used_by(said), TABLE.read_text()
    table = {name: tuple(map(int, rest)) for name, *rest in LINE.findall(text)}
    wrong = []
    for name in sorted(used.keys() | table.keys()):
        if name not in used:
            if name not in CHECKING:
                wrong.append(f"{name}: the module does not have it")
            continue
        registers, stack, shared = used[name]
        told = f"{name}: {registers or '?'} registers, {stack} bytes of stack, {', '.join(map(str, sorted(shared)))} shared"
        print(told)
        if name not in table:
            wrong.append(told + "; the table does not have it")
        elif (registers or 0) > table[name][0] or stack > table[name][1] or shared != {table[name][2]}:
            wrong.append(told + "; the table says {}, {}, {}".format(*table[name]))
    if "--update" in sys.argv:
        kept = {name: line for name, line in table.items() if name in CHECKING}
        new = {name: (one[0], one[1], max(one[2])) for name, one in used.items() if one[0]} | kept
        lines = [f"KVLAB_KERNEL({name}, {', '.join(map(str, line))})" for name, line in sorted(new.items())]
        TABLE.write_text(text[:LINE.search(text).start()] + "\n".join(lines) + "\n")
        return 0
    if wrong:
        print("not as the table says:", *wrong, sep="\n  ")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
