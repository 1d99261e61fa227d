# SPDX-License-Identifier: Apache-2.0
"""KV caches of transformers, row by row: edits, eviction, quantisation, hierarchy, and what each costs.

    import kvlab
    s = kvlab.open("smollm2-135m", policy="h2o:ratio=0.5")
    s.prompt("The capital of France is")
    s.step(8)
    s.rows(3).to_pandas()

A verb of the engine is a method of Session, a table one that gives a kvlab.Table. help(kvlab.Session) lists them.
"""
import importlib.util
import os
import pathlib
from typing import Any

if importlib.util.find_spec("kvlab_cuda"):  # the package kvlab-cuda
    import kvlab_cuda

    os.environ.setdefault("KVLAB_CUDA_MODULE", kvlab_cuda.MODULE)  # for this process and for the program

from . import _core
from ._codec import Heads, check_codec, codec
from ._compare import Comparison, compare
from ._compressor import Pairs, check_compressor, compressor
from ._errors import Error, checked
from ._policy import Rows, check_policy, policy
from ._progress import progress, show_progress
from ._session import LISTS, Batch, Lanes, Session
from ._sweep import Sweep, merge, sweep
from ._table import Table
from ._window import Picture
from ._wlod import Entries, Nodes, check_gist, check_lens, gist, lens

__version__: str = _core.__version__
__all__ = ["Batch", "Comparison", "Entries", "Error", "Heads", "Lanes", "Nodes", "Pairs", "Picture", "Rows", "Session",
           "Sweep", "Table", "check_codec", "check_compressor", "check_gist", "check_lens", "check_policy", "codec",
           "compare", "compressor", "gist", "lens", "lists", "merge", "open", "open_capture", "open_cell", "policy",
           "resources", "show_progress", "sweep"]


def resources() -> pathlib.Path:
    """The folder of the files that come with the package: the demo model, scripts, sweeps."""
    chosen = os.environ.get("KVLAB_RESOURCES")
    return pathlib.Path(chosen) if chosen else pathlib.Path(__file__).parent / "share"


def lists(name: str) -> list[dict[str, Any]]:
    """What there is, as `kvlab list NAME` shows it: policies, layouts, verbs, tables, facts (the words of conditions),
    manifest (the keys that open() takes), invariants, metrics, bugs, selftests, importers,
    causes, errors."""
    if name not in LISTS:
        raise KeyError(f"{name!r} is none of {', '.join(LISTS)}")
    return _core.lists()["policies"] if name == "policies" else LISTS[name]  # policies may have been added


def open(model: str = "demo", **manifest: Any) -> Session:
    """Opens a session: a model, and keys of the manifest (the manual lists them), as
    kvlab.open("demo", policy="h2o:budget=64", layout="paged")."""
    with progress("open") as told:
        return Session(checked(_core.open({"model": model, **manifest}, str(resources()), told)))


def open_capture(path: str | os.PathLike[str]) -> Session:
    """Opens the session of a capture, with its history."""
    with progress("replay") as told:
        return Session(checked(_core.open_capture(os.fspath(path), str(resources()), told)))


def open_cell(folder: str | os.PathLike[str], cell: int, question: int = 0) -> Session:
    """Opens a cell of a sweep, or of a shard, as a session that has read the story, was asked the question and has answered.
    cell: its index in the results; question counts the cell's questions from 0, in the order of its stories and
    answers. The moments before are ticks of the session."""
    with progress("open") as told:
        return Session(checked(_core.open_cell(os.fspath(folder), cell, question, str(resources()), told)))
