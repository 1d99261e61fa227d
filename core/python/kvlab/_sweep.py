# SPDX-License-Identifier: Apache-2.0
"""Sweeps: every combination of settings on the same questions."""
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from . import _core
from ._errors import checked
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


def sweep(spec: Mapping[str, Any] | str | os.PathLike[str], out: str | os.PathLike[str] | None = None,
          resume: bool = False, jobs: int = 0) -> Sweep:
    """Runs a sweep: a specification as a dict, the name of its file, or the name of one that comes with the package
    (smartkv, layouts, windows). Its files stand in the folder `out`, NAME.sweep unless given, as those of the command
    kvlab sweep. Ctrl+C ends it; finished cells stay in the journal, and resume=True goes on there. jobs: cells at a
    time, all cores unless given. A cell that fails is a row with its error."""
    from . import resources

    given = os.fspath(spec) if isinstance(spec, (str, os.PathLike)) else spec
    with progress("sweep") as told:
        return Sweep(checked(_core.sweep(given, os.fspath(out or ""), str(resources()), resume, jobs, told)))
