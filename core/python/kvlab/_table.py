# SPDX-License-Identifier: Apache-2.0
"""Rows of a table of a session."""
import html


class Table:
    """Rows of a table, as columns. pyarrow.table(t), polars.DataFrame(t), duckdb and pandas (to_pandas) take it as it
    is, through the Arrow C stream. A question is asked when somebody reads it; each reader asks anew, so a table shows
    the session as it is then."""

    def __init__(self, session, args):
        self._session, self._args, self._columns = session, args, None

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

    @property
    def columns(self):
        """Names of the columns."""
        return list(self._read())

    def __len__(self):
        return len(next(iter(self._read().values()), []))

    def __getitem__(self, key):
        """A column by its name, or a row by its number, as a dict."""
        columns = self._read()
        if isinstance(key, str):
            return columns[key]
        if isinstance(key, slice):
            return [self[i] for i in range(*key.indices(len(self)))]
        return {name: cells[key] for name, cells in columns.items()}

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def to_arrow(self):
        """The rows as a pyarrow.Table."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self):
        """The rows as a pandas.DataFrame."""
        return self.to_arrow().to_pandas()

    def __repr__(self):
        return f"<kvlab.Table {self._args['name']}: {len(self)} rows, columns {', '.join(self.columns)}>"

    def _repr_html_(self):
        most = 20
        cell = lambda tag, value: f"<{tag}>{html.escape('' if value is None else str(value))}</{tag}>"
        lines = ["".join(cell("th", name) for name in self.columns)]
        lines += ["".join(cell("td", value) for value in row.values()) for row in self[:most]]
        more = f"<caption>{self._args['name']}: {len(self)} rows" + (f", the first {most}" if len(self) > most else "")
        return f"<table>{more}</caption>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
