# SPDX-License-Identifier: Apache-2.0
"""Shared by the recipes of `kvlab train`: the recordings of a folder, progress lines, files that are whole or absent.

Needs PyTorch and safetensors.
"""
import contextlib
import json
import os
import statistics
import sys

import torch
from safetensors import safe_open

HELD_OUT = 10  # every so many windows one is held out


class Recordings:
    """The windows that kvlab recorded into a folder, without those that are held out; `tensor` is what each must have."""

    def __init__(self, folder, tensor):
        names = sorted(name for name in os.listdir(folder) if name[:-12].isdigit() and name.endswith(".safetensors"))
        self.paths = [os.path.join(folder, name) for name in names]
        if len(self.paths) < 2:
            raise SystemExit(f"{folder}: {len(self.paths)} recordings; training and held-out text need at least two")
        rules = [self._rules(path, tensor) for path in self.paths]
        for path, rule in zip(self.paths, rules):
            if rule != rules[0]:
                raise SystemExit(f"{path}: {rule} differs from {rules[0]} of {self.paths[0]}; record all with one model and one rule")
        self.meta = rules[0]
        held = set(range(HELD_OUT - 1, len(self.paths), HELD_OUT)) or {len(self.paths) - 1}
        self.held = [path for i, path in enumerate(self.paths) if i in held]
        self.learnt = [path for i, path in enumerate(self.paths) if i not in held]

    @staticmethod
    def _rules(path, tensor):
        with safe_open(path, "pt") as file:
            meta = file.metadata() or {}
            if meta.get("kvlab") != "lifespans" or tensor not in file.keys():
                raise SystemExit(f"{path}: is no recording with {tensor}")
            return {key: meta[key] for key in ("model", "threshold", "cap")}


def say(line):
    print(f"kvlab: train {line}", file=sys.stderr, flush=True)


def write_whole(path, write):
    """write(name) makes the file, which then replaces what the path points to, whole or not at all."""
    path = os.path.realpath(path)
    new = f"{path}.new-{os.getpid()}"
    try:
        write(new)
        with open(new, "rb") as made:
            os.fsync(made.fileno())
        if os.path.exists(path):
            os.chmod(new, os.stat(path).st_mode & 0o7777)
        os.replace(new, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(new)
        raise


def _text(content):
    def write(name):
        with open(name, "w") as out:
            out.write(content)
    return write


def write_reports(folder, report, text):
    """report.json and report.txt; the text is printed, too."""
    for name, content in (("report.json", json.dumps(report, indent=1) + "\n"), ("report.txt", text)):
        write_whole(os.path.join(folder, name), _text(content))
    print(text, end="", flush=True)


def saved(path, settings):
    """The checkpoint of an earlier run with the same settings; empty if there is none."""
    state = torch.load(path) if os.path.exists(path) else {}
    return state if state.get("settings") == settings else {}


def save(path, settings, state):
    write_whole(path, lambda name: torch.save({**state, "settings": settings}, name))


def spread(values):
    known = [v for v in values if v is not None]
    return {"median": round(statistics.median(known), 4), "min": min(known), "max": max(known)} if known else None


def shown(value):
    return "-" if value is None else f"{value:.2f}"
