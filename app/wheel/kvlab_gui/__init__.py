# SPDX-License-Identifier: GPL-3.0-or-later
"""The program kvlab with its window and its files. The command of the package kvlab starts it."""
import contextlib
import os
import pathlib
import re
import subprocess
import sys
from importlib import metadata

HOME = pathlib.Path(__file__).resolve().parent
PLUGINS = {"libqxcb.so": "DISPLAY", "libqwayland.so": "WAYLAND_DISPLAY"}  # what opens windows, and where


def program():
    """The path of the program."""
    return str(HOME / "bin" / "kvlab")


def _qt():
    """The folder of PyQt6-Qt6: beside this package, unless another environment has it."""
    beside = HOME.parent / "PyQt6" / "Qt6"
    if not beside.is_dir():
        with contextlib.suppress(metadata.PackageNotFoundError):
            return pathlib.Path(metadata.distribution("PyQt6-Qt6").locate_file("PyQt6/Qt6"))
    return beside


def environment():
    """The environment to start it in. The program itself looks for Qt beside this package alone, and on PATH for a Python
    that has the package kvlab."""
    out, qt = {"KVLAB_PYTHON": sys.executable, **os.environ}, _qt()
    if HOME.parent not in qt.parents:
        out["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (str(qt / "lib"), out.get("LD_LIBRARY_PATH"))))
    return out


def missing(window):
    """Shared libraries that the program needs, with `window` also to open one, and that the system does not have."""
    shown = window and not os.environ.get("QT_QPA_PLATFORM")
    plugins = [name for name, display in PLUGINS.items() if shown and os.environ.get(display)]
    return min((_absent(_qt() / "plugins" / "platforms" / name) for name in plugins or [""]), key=len)


def _absent(plugin):
    asking = {**environment(), "LD_TRACE_LOADED_OBJECTS": "1"}
    if plugin.is_file():
        asking["LD_PRELOAD"] = str(plugin)
    said = subprocess.run([program()], env=asking, capture_output=True, text=True).stdout
    return list(dict.fromkeys(re.findall(r"(\S+) => not found", said)))
