#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuda_resource_table.py MODULE... [--update] compares what every kernel of built CUDA modules takes of a device, as
cuobjdump tells it, with simt/kernel_resources.inc: no kernel may need more registers or more of a stack, where spilled
registers go, and static shared memory has to be as the table says. --update writes the columns anew that the modules
have. Exit code 77: there is no cuobjdump. It comes with the CUDA toolkit, and with the package nvidia-cuda-cuobjdump of
PyPI."""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).resolve().parent / "simt" / "kernel_resources.inc"
# The table has registers of these architectures. Others are not compared; every kernel says how many threads a block
# has (__launch_bounds__), so its registers fit everywhere.
ARCHITECTURES = (75, 80, 90, 100, 120)
LINE = re.compile(r"^KVLAB_KERNEL\((\w+), " + ", ".join([r"(\d+)"] * (len(ARCHITECTURES) + 2)) + r"\)$", re.M)
# From sm_90 on cuobjdump counts the system's own bytes of a block with those of a kernel that has shared memory.
RESERVED = 1024
# Kernels that are there with KV_DEBUG_BOUNDS alone.
CHECKING = {"guardQueries", "guardRows"}


class Needs:
    """Of a kernel, the most of all its instances; registers as they are handed out, eight at a time."""

    def __init__(self, registers=(), stack=0, shared=()):
        self.registers, self.stack, self.shared = dict(registers), stack, set(shared)

    def __str__(self):
        registers = ", ".join(f"{count} on sm_{arch}" for arch, count in sorted(self.registers.items()))
        return f"registers {registers or '?'}; {self.stack} bytes of stack, {sorted(self.shared)} of shared memory"

    def exceeds(self, told):
        return (any(count > told.registers.get(arch, count) for arch, count in self.registers.items())
                or self.stack > told.stack or self.shared != told.shared)

    def line(self, name, told):
        known = (told.registers if told else {}) | self.registers
        most = max(known.values())
        columns = [known.get(arch, most) for arch in ARCHITECTURES]
        stack = max(self.stack, told.stack if told else 0)
        return f"KVLAB_KERNEL({name}, {', '.join(map(str, [*columns, stack, max(self.shared)]))})"


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
    """name -> Needs."""
    used, arch = {}, 0
    for found, mangled, registers, stack, shared in re.findall(
            r"arch = sm_(\d+)|Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)", said):
        if found:
            arch = int(found)
            continue
        one = used.setdefault(name_of(mangled), Needs())
        if arch in ARCHITECTURES:
            one.registers[arch] = max(one.registers.get(arch, 0), (int(registers) + 7) // 8 * 8)
        one.stack = max(one.stack, int(stack))
        one.shared.add(max(int(shared) - (RESERVED if arch >= 90 else 0), 0))
    return used


def table_of(text):
    """name -> Needs."""
    table = {}
    for name, *numbers in LINE.findall(text):
        *registers, stack, shared = map(int, numbers)
        table[name] = Needs(zip(ARCHITECTURES, registers), stack, {shared})
    return table


def main():
    tool = cuobjdump()
    if not tool:
        print("skipped: no cuobjdump")
        return 77
    said = "".join(subprocess.run([tool, "--dump-resource-usage", one], capture_output=True, text=True, check=True).stdout
                   for one in sys.argv[1:] if one != "--update")
    used, text = used_by(said), TABLE.read_text()
    table = table_of(text)
    wrong = [f"{name}: no module has it" for name in sorted(table.keys() - used.keys() - CHECKING)]
    for name, needs in sorted(used.items()):
        print(f"{name}: {needs}")
        told = table.get(name)
        if not told or needs.exceeds(told):
            wrong.append(f"{name}: {needs}; the table says {told or 'nothing'}")
    if "--update" in sys.argv:
        lines = {name: table[name].line(name, None) for name in CHECKING & table.keys()}
        lines |= {name: needs.line(name, table.get(name)) for name, needs in used.items() if needs.registers}
        TABLE.write_text(text[:text.index("KVLAB_KERNEL(", text.rindex("\n//"))] + "\n".join(lines[name] for name in sorted(lines)) + "\n")
        return 0
    if wrong:
        print("not as the table says:", *wrong, sep="\n  ")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
