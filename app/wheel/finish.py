# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes wheels complete: auditwheel adds the distribution's libraries and says which systems take the wheel; the
licences of these libraries, and of those that are compiled in, come along. Qt and CUDA stay outside: packages of PyPI
have them.

usage: finish.py FOLDER WHEEL..."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata

COMPILED_IN = {"kvlab": ["nlohmann-json3-dev"], "kvlab_gui": ["nlohmann-json3-dev", "libcli11-dev"], "kvlab_cuda": []}


def run(*words):
    return subprocess.run(list(map(str, words)), check=True, stdout=subprocess.PIPE, text=True).stdout


def licences(name, tree):
    """Files by the name that they get."""
    packages = list(COMPILED_IN[name])
    for library in tree.glob("*.libs/*"):
        file = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library.name)
        packages.append(run("dpkg-query", "--search", f"*/{file}").split(":")[0])
    out = {f"{one}.txt": pathlib.Path("/usr/share/doc", one, "copyright") for one in sorted(set(packages))}
    if name == "kvlab":
        nanobind = metadata.distribution("nanobind")
        out["nanobind.txt"] = next(nanobind.locate_file(one) for one in nanobind.files if one.name == "LICENSE")
    return out


def finish(wheel, folder):
    name = wheel.name.split("-")[0]
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        run("auditwheel", "repair", "--exclude", "libQt6*", "--exclude", "libcudart.so*", "--wheel-dir", work / "repaired", wheel)
        [repaired] = (work / "repaired").iterdir()
        run("wheel", "unpack", "--dest", work / "tree", repaired)
        [tree] = (work / "tree").iterdir()
        [info] = tree.glob("*.dist-info")
        lines = ""
        for file, source in licences(name, tree).items():
            shutil.copy(source, info / "licenses" / file)
            lines += f"License-File: {file}\n"
        about = info / "METADATA"
        about.write_text(about.read_text().replace("License-File:", lines + "License-File:", 1))
        run("wheel", "pack", "--dest-dir", folder, tree)
    made = folder / repaired.name
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")


def main():
    folder, *wheels = map(pathlib.Path, sys.argv[1:])
    for wheel in wheels:
        finish(wheel, folder)


if __name__ == "__main__":
    main()
