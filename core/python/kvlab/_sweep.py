# SPDX-License-Identifier: Apache-2.0
"""Sweeps: every combination of settings on the same questions."""
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from . import _core
from ._errors import Error, checked
from ._progress import progress
from ._table import Columns


class Sweep(Columns):
    """The cells of a sweep, a row each, in cell order: axes, budget, seed and measures. out is the folder with its files,
    found the number of cells that its journal had already, failed that of cells with an error in place of figures,
    summary the cells without their seeds, with intervals."""

    def __init__(self, made: dict[str, Any]) -> None:
        super().__init__(made["cells"])
        self.out, self.found, self.failed = pathlib.Path(made["out"]), made["found"], made["failed"]
        self.summary = Columns(made["summary"])

    @property
    def svg(self) -> str:
        """The plot of recall against budget and of KL against bytes, as the program writes it."""
        return (self.out / "pareto.svg").read_text(encoding="utf-8")

    def _repr_html_(self):
        return self.svg + self.summary._repr_html_()


Spec = Mapping[str, Any] | str | os.PathLike[str]
Folder = str | os.PathLike[str]


class Engine(Protocol):
    """Where shards run: an executor of concurrent.futures, of submitit, or another with such a method. What it gives has
    a method result()."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any: ...


def _given(spec: Spec) -> Mapping[str, Any] | str:
    return os.fspath(spec) if isinstance(spec, (str, os.PathLike)) else spec


def _run(spec, out, resume, jobs, shard):
    from . import resources

    with progress("sweep") as told:
        return Sweep(checked(_core.sweep(spec, out, str(resources()), resume, jobs, shard, told)))


def _run_shard(spec, out, jobs, index, count):
    """The task of an engine, which may run in another process or on another machine."""
    _run(spec, out, True, jobs, (index, count))
    return out


def _run_with(engine, spec, out, resume, jobs, shards):
    from . import resources

    plan = checked(_core.plan_of_sweep(spec, out, str(resources())))
    out, count = os.path.abspath(plan["out"]), shards or plan["groups"]
    folders = [os.path.join(out, f"shard-{i}") for i in range(1, count + 1)]
    if not resume and (there := [one for one in folders if os.path.exists(os.path.join(one, "journal.jsonl"))]):
        raise Error("sweep_exists", "the sweep was not started", f"{there[0]} holds a shard of a sweep",
                    "go on with resume=True, or give another folder")
    if isinstance(spec, str) and os.path.exists(spec):
        spec = os.path.abspath(spec)
    tasks = [engine.submit(_run_shard, spec, one, jobs, i, count) for i, one in enumerate(folders, 1)]
    return merge([task.result() for task in tasks], out)


def sweep(spec: Spec, out: Folder | None = None, resume: bool = False, jobs: int = 0,
          shard: tuple[int, int] | None = None, engine: Engine | None = None, shards: int = 0) -> Sweep:
    """Runs a sweep: a specification as a dict, the name of its file, or the name of one that comes with the package
    (smartkv, layouts, windows). Its files stand in the folder `out`, NAME.sweep unless given, as those of the command
    kvlab sweep. Ctrl+C ends it; finished cells stay in the journal, and resume=True goes on there. jobs: threads that
    run cells, all cores unless given. A cell that fails is a row with its error.

    shard=(i, n) runs part i of n, from 1, into a folder that merge() takes. engine runs all parts, one per task, and
    merges them: an executor of concurrent.futures, or another with submit(), as submitit has. shards: their number, one per prompt set and seed
    unless given. Part i has the folder shard-i in `out`, which all tasks must reach."""
    given, folder = _given(spec), os.fspath(out or "")
    if engine is not None and shard is not None:
        raise Error("bad_argument", "the sweep was not started", "shard and engine exclude each other",
                    "name one of them", field="shard", value=shard)
    if engine is not None:
        return _run_with(engine, given, folder, resume, jobs, shards)
    return _run(given, folder, resume, jobs, shard or (1, 1))


def merge(folders: Iterable[Folder], out: Folder) -> Sweep:
    """Merges the shards of a sweep: the files in `out` are those of a single run, byte for byte. folders: a folder per
    shard, or one that holds shard-1, shard-2 and so on. Shards of another specification, model, prompts or arithmetic
    are refused, as are cells that are missing or contradict each other."""
    return Sweep(checked(_core.merge([os.fspath(one) for one in folders], os.fspath(out))))
