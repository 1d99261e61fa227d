# SPDX-License-Identifier: Apache-2.0
"""Rows as columns: tables of a session, and what a sweep found."""
import html
from collections.abc import Iterator
from typing import Any


class Rows:
    """Rows with named columns. pyarrow.table(t), polars.DataFrame(t), duckdb and pandas (to_pandas) take them as they
    are, through the Arrow C stream."""

    _name = ""

    def _read(self):
        raise NotImplementedError

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._read())

    def __len__(self) -> int:
        return len(next(iter(self._read().values()), []))

    def __getitem__(self, key: Any) -> Any:
        """A column by its name, as a list; a row by its number, as a dict."""
        columns = self._read()
        if isinstance(key, str):
            return columns[key]
        if isinstance(key, slice):
            return [self[i] for i in range(*key.indices(len(self)))]
        return {name: cells[key] for name, cells in columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(len(self)))

    def to_arrow(self) -> Any:
        """The rows as a pyarrow.Table."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """The rows as a pandas.DataFrame."""
        return self.to_arrow().to_pandas()

    def __repr__(self):
        return f"<kvlab.{type(self).__name__} {self._name}: {len(self)} rows, columns {', '.join(self.columns)}>"

    def _repr_html_(self):
        most = 20
        cell = lambda tag, value: f"<{tag}>{html.escape('' if value is None else str(value))}</{tag}>"
        lines = ["".join(cell("th", name) for name in self.columns)]
        lines += ["".join(cell("td", value) for value in row.values()) for row in self[:most]]
        more = f"<caption>{self._name}: {len(self)} rows" + (f", the first {most}" if len(self) > most else "")
        return f"<table>{more}</caption>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


class Table(Rows):
    """Rows of a table of a session. A question is asked when somebody reads it; each reader of the stream asks anew, so
    a table shows the session as it is then."""

    def __init__(self, session, args):
        self._session, self._args, self._columns, self._name = session, args, None, args["name"]

    def __arrow_c_stream__(self, requested_schema=None):
        return self._session._arrow(self._args)

    def _read(self):
        if self._columns is None:
            columns, begin = None, self._args.get("begin", 0)
            while begin is not None:
                piece = self._session._ask("table", {**self._args, "begin": begin})
                if columns is None:
                    columns = {name: [] for name in self._order(piece["columns"])}
                for name, cells in piece["columns"].items():
                    columns[name] += cells
                begin = None if "limit" in self._args else piece["next"]
            self._columns = columns
        return self._columns

    def _order(self, names):
        """The columns as they were asked for, or as the table lists them: an answer has them by name."""
        wanted = self._args.get("columns") or [one["name"] for one in self._session._table(self._args["name"])["columns"]]
        return [name for name in wanted if name in names]


class Columns(Rows):
    """Rows that are there already."""

    def __init__(self, columns):
        self._made, self._name, self._lists = columns, columns.name, None

    def __arrow_c_stream__(self, requested_schema=None):
        return self._made.arrow()

    def _read(self):
        if self._lists is None:
            self._lists = self._made.lists()
        return self._lists
