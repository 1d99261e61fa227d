#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuda_shared_table.py MODULE compares the static shared memory of every kernel in the built CUDA module with the
table below, as cuobjdump reads it. Exit code 77: there is no cuobjdump. A kernel that is not in the table is wrong: say
what it takes, and whether it has dynamic shared memory too, which goes with a static one of 0 alone (launch.h)."""
import os
import re
import shutil
import subprocess
import sys

# Kernels that are started with dynamic shared memory.
DYNAMIC = {"linearKernel", "matmulFewKernel", "matmulTiledKernel", "splitKernel", "tileKernel", "mmaKernel",
           "gateKernel"}
# Bytes of the others, all instances alike; a kernel without an entry has none.
STATIC = {"argmaxKernel": 128, "headMeanKernel": 256, "mergeKernel": 35844, "plainKernel": 2312, "readScalesKernel": 32, "reorderKernel": 2048,
          "rmsnormKernel": 16388, "routeKernel": 5124, "softmaxKernel": 16452, "topkKernel": 17428,
          "verifyRowsKernel": 32, "writeRowsKernel": 224}
# From sm_90 on cuobjdump counts the system's own bytes of a block with those of a kernel that has shared memory.
RESERVED = 1024


def name_of(mangled):
    """The last part of a mangled name, without its namespaces and arguments."""
    at, name = mangled.index("N") + 1 if mangled.startswith("_ZN") else 2, ""
    while digits := re.match(r"\d+", mangled[at:]):
        begin = at + digits.end()
        at = begin + int(digits.group())
        name = mangled[begin:at]
    return name


def main():
    tool = shutil.which("cuobjdump") or "/usr/local/cuda/bin/cuobjdump"
    if not os.path.exists(tool):
        print("skipped: no cuobjdump")
        return 77
    said = subprocess.run([tool, "--dump-resource-usage", sys.argv[1]], capture_output=True, text=True, check=True).stdout
    used, wrong, reserved = {}, [], 0
    for arch, mangled, shared in re.findall(r"arch = sm_(\d+)|Function (\S+):\s+REG:\d+.*? SHARED:(\d+)", said):
        if arch:
            reserved = RESERVED if int(arch) >= 90 else 0
        else:
            used.setdefault(name_of(mangled), set()).add(max(int(shared) - reserved, 0))
    for name, sizes in sorted(used.items()):
        print(name, *sorted(sizes), "and dynamic" if name in DYNAMIC else "")
        if sizes != {STATIC.get(name, 0)}:
            wrong.append(name)
    wrong += sorted(DYNAMIC & set(STATIC))
    wrong += sorted(name for name in DYNAMIC | set(STATIC) if name not in used)
    if wrong:
        print("not as the table says:", *wrong)
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
