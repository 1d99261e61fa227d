# SPDX-License-Identifier: Apache-2.0
"""Writes kvlab/_session.pyi, the types of methods that the package makes of the engine's schema.

    python tests/python/stubs.py [--update]       with the built package on the path; without, it compares
"""
import pathlib
import re
import sys

import kvlab
from kvlab._names import snake
from kvlab._session import of_session

HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by tests/python/stubs.py from the engine's schema.
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

import numpy
import numpy.typing

from ._table import Table
from ._window import Picture

Json = Any
Answer = dict[str, Any]
Path = Any

class _Asker:
    def close(self) -> None: ...
    def __enter__(self): ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

'''
SESSION = '''    @property
    def tick(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def tokens(self) -> list[int]: ...
    @property
    def state_hash(self) -> str: ...
    def __len__(self) -> int: ...
    def __enter__(self) -> Session: ...
    def fork(self) -> Session: ...
    def at(self, tick: int, branch: str | None = None) -> Past: ...
    def lanes(self, changes: Sequence[Mapping[str, Json]], together: bool = True, needles: Sequence[int] | None = None) -> Lanes: ...
    def batch(self, size: int, together: bool = True) -> Batch: ...
    def rows_array(self, layer: int, rotated: bool = False) -> tuple[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32]]: ...
    def pool(self, layer: int) -> tuple[numpy.typing.NDArray[numpy.uint8], Answer]: ...
    def view(self, name: str = 'map', path: Path | None = None, *, size: tuple[int, int] = (960, 600), theme: Literal['light', 'dark'] = 'light', focus: Mapping[str, Json] | None = None, options: Mapping[str, Json] | None = None) -> Picture: ...
    def show(self) -> subprocess.Popen[bytes]: ...
    def verb(self, name: str, /, **args: Json) -> Json: ...
'''
GROUP = '''    def __len__(self) -> int: ...
    def __getitem__(self, place: int) -> Session: ...
    def __iter__(self) -> Iterator[Session]: ...
    def report(self) -> list[Answer]: ...
'''
PLAIN = {"string": "str", "boolean": "bool", "number": "float", "any": "Json", "null": "None"}
KINDS = (("integer", "int"), ("numbers", "Sequence[float]"), ("number", "float"), ("true or false", "bool"), ("file", "Path"), ("token ids", "Sequence[int]"),
         ("ledger ids", "Sequence[int]"), ("actions", "Sequence[Mapping[str, Json]] | Mapping[str, Json]"), ("list", "Sequence[Json]"),
         ("object", "Mapping[str, Json]"), ("policy", "str | Mapping[str, Json]"), ("verb", "str"), ("arguments", "Mapping[str, Json]"),
         ("text", "str"))


def given(arg):
    """The type of an argument."""
    if "words" in arg:
        return "Literal[" + ", ".join(repr(word) for word in arg["words"]) + "]"
    return next((type for start, type in KINDS if arg["type"].startswith(start)), "Json")


def answered(text):
    """A type of script_api.d.ts in Python: names of objects are dicts."""
    parts = [part.strip() for part in re.sub(r"\{[^}]*\}", "Object", text).split("|")]
    lists = lambda part: f"list[{lists(part[:-2])}]" if part.endswith("[]") else PLAIN.get(part, "Answer")
    return " | ".join(dict.fromkeys(lists(part) for part in parts))


def method(name, args, answer, more=""):
    out, optional = ["self"], False
    for arg in args:
        optional = optional or not arg["required"]
        default = f" | None = {arg.get('default')!r}" if optional else ""
        out.append(f"{snake(arg['name'])}: {given(arg)}{default}")
    return f"    def {name}({', '.join(out)}{more}) -> {answer}: ...\n"


def text():
    shaping = lambda args: ", *" + "".join(
        f", {name}: {type} | None = None"
        for name, type in (("columns", "Sequence[str]"), ("where", "str"), ("begin", "int"), ("limit", "int"))
        if name not in [snake(arg["name"]) for arg in args]
    )
    session, lanes, batch = SESSION, GROUP, GROUP
    for verb in kvlab.lists("verbs"):
        line = method(snake(verb["id"]), verb["args"], answered(verb["gives"]))
        if verb["id"] != "at" and of_session(verb):
            session += line
        if verb["lanes"] in ("feeds", "steps"):
            lanes += line
        for prefix in ("lanes", "batch"):
            name = snake(verb["id"][len(prefix):]).lstrip("_")
            if verb["id"].startswith(prefix) and name not in ("", "open", "close", "report"):
                own = method(name, verb["args"], answered(verb["gives"]))
                lanes, batch = (lanes + own, batch) if prefix == "lanes" else (lanes, batch + own)
    for table in kvlab.lists("tables"):
        session += method(snake(table["id"]), table["args"], "Table", shaping(table["args"]))
    return (f"{HEAD}class Session(_Asker):\n{session}\nclass Past(Session): ...\n\nclass Lanes(_Asker):\n{lanes}\n"
            f"class Batch(_Asker):\n{batch}")


def main():
    path = pathlib.Path(__file__).parents[2] / "core" / "python" / "kvlab" / "_session.pyi"
    if "--update" in sys.argv:
        path.write_text(text())
    elif path.read_text() != text():
        sys.exit(f"{path} is not what the schema gives: run tests/python/stubs.py --update")


if __name__ == "__main__":
    main()
