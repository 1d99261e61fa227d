# SPDX-License-Identifier: Apache-2.0
"""The command kvlab. Where kvlab-gui is installed it is the program with the window, with all of its subcommands. The
package by itself serves those of SERVED, with the options, the output and the exit codes of the program."""
import argparse
import importlib.util
import json
import os
import sys
from typing import Any, Callable, NamedTuple

from . import _core, lists, resources
from ._errors import Error, checked

USAGE, REFUSED = 2, 3  # exit codes
TEXTS = ("model", "backend", "dtype", "position")  # options that are keys of the manifest
NAMED = ("policy", "layout")  # and those that are NAME:key=value
REST = 'pip install "kvlab[gui]" brings the window and all other subcommands'


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Error("usage", "command line", message, "see kvlab --help")


def _value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def _named(text):
    """"h2o:budget=64" as {"name": "h2o", "budget": 64}."""
    name, _, keys = text.partition(":")
    pairs = [part.partition("=") for part in keys.split(",") if part]
    return {"name": name, **{key: _value(value) for key, _, value in pairs}} if pairs else name


def _session_options(parser):
    parser.add_argument("--manifest", metavar="FILE", help="JSON description of the run")
    for name in TEXTS + NAMED:
        parser.add_argument(f"--{name}", help=f"{name} of the manifest")
    parser.add_argument("--kv", metavar="K=f16,V=int8", help="types of the rows")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[],
                        help="any key of the manifest, dots between levels")


def _manifest(given):
    """The manifest of session options; those win over the file."""
    out = {}
    if given.manifest:
        try:
            with open(given.manifest, encoding="utf-8") as file:
                out = json.load(file)
        except (OSError, ValueError) as error:
            what = f"manifest {given.manifest} was not read"
            raise Error("unreadable_file", what, str(error), "name a JSON file") from error
    out.update({name: text for name in TEXTS if (text := getattr(given, name))})
    out.update({name: _named(text) for name in NAMED if (text := getattr(given, name))})
    pairs = [f"kv.{one[:1].lower()}{one[1:]}" for one in (given.kv or "").split(",") if one] + given.set
    for one in pairs:
        path, equals, value = one.partition("=")
        *folders, last = path.split(".")
        at = out
        for name in folders:
            at = at.setdefault(name, {}) if isinstance(at, dict) else None
        if not equals or not last or not isinstance(at, dict):
            raise Error("usage", "command line", f"{one} sets no key", "write --set key=value or --kv K=f16,V=int8")
        at[last] = _value(value)
    return out


def _info(given):
    return checked(_core.info(_manifest(given), str(resources())))


def _list(given):
    return lists(given.what), _core.list_text(given.what, given.markdown)


def _mcp(given):
    try:
        from . import mcp
    except ImportError as error:
        raise Error("no_resources", "the server was not started", str(error), 'pip install "kvlab[mcp]"') from error
    mcp.main([])
    return None, ""


def _json_option(parser):
    parser.add_argument("--json", metavar="FILE", nargs="?", const="",
                        help="write the outcome, or the error, as JSON (to standard output, unless a file is named)")


def _info_options(parser):
    _session_options(parser)
    _json_option(parser)


def _list_options(parser):
    parser.add_argument("what", choices=sorted(_core.lists()), help="which list")
    form = parser.add_mutually_exclusive_group()
    _json_option(form)
    form.add_argument("--markdown", action="store_true", help="as a table of Markdown")


class Served(NamedTuple):
    """A subcommand of the package by itself."""

    help: str
    options: Callable[[argparse.ArgumentParser], None]  # adds them to a parser
    run: Callable[[Any], tuple[Any, str]]  # gives what --json writes and what is printed, from the parsed options
    of_program: bool = True  # where kvlab-gui is installed, the program serves it


SERVED = {
    "info": Served("what is in the model, what it costs, which back ends there are", _info_options, _info),
    "list": Served("list what there is", _list_options, _list),
    "mcp": Served("serve tools to a language model, over standard input and output", lambda parser: None, _mcp, False),
}


def program(window=True):
    """The package kvlab_gui, or None where kvlab-gui is not installed. Error: no_resources, a library is missing that
    the program needs, with `window` also to open one."""
    if importlib.util.find_spec("kvlab_gui") is None:
        return None
    import kvlab_gui

    if missing := kvlab_gui.missing(window):
        raise Error("no_resources", "the program was not started", f"this system lacks {', '.join(missing)}",
                    "install the packages that have them; the README of kvlab-gui names them")
    return kvlab_gui


def _print(text):
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left goes nowhere when Python ends
        raise Error("io", "the output was not written", error.strerror, "make room, or send it elsewhere") from error


def _write(value, file):
    """What --json asks for: a file is there whole or not at all."""
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    if not file:
        return _print(text)
    try:
        with open(f"{file}.part", "w", encoding="utf-8") as part:
            part.write(text)
        os.replace(part.name, file)
    except OSError as error:
        raise Error("io", f"{file} was not written", error.strerror, "choose another folder") from error


def _serve(arguments):
    parser = _Parser("kvlab", description=f"KV caches of transformers, row by row. {REST}.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"kvlab {_core.__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND", parser_class=_Parser)
    for name, one in SERVED.items():
        one.options(verbs.add_parser(name, help=one.help, description=one.help, allow_abbrev=False))
    file = "" if "--json" in arguments else None
    try:
        given = parser.parse_args(arguments)
        file = getattr(given, "json", None)
        value, text = SERVED[given.verb].run(given)
    except Error as error:
        if file is not None:
            _write({"error": {name: one for name, one in error.__dict__.items() if one is not None}}, file)
        raise
    if file != "":
        _print(text)
    if file is not None:
        _write(value, file)


def _run(arguments):
    verb = arguments[0] if arguments else "gui"
    served = SERVED.get(verb)
    if served is None or served.of_program:
        if found := program(verb in ("gui", "replay")):
            os.execve(found.program(), ["kvlab", *arguments], found.environment())
    if served is None and verb not in ("--help", "-h", "--version"):
        raise Error("usage", f"kvlab {verb}", f"the package by itself serves {', '.join(SERVED)} alone", REST)
    _serve(arguments)


def main():
    try:
        _run(sys.argv[1:])
    except Error as error:
        print(f"kvlab: error: {error}", file=sys.stderr)
        return USAGE if error.code == "usage" else REFUSED
    except OSError as error:
        print(f"kvlab: error: the program was not started: {error}", file=sys.stderr)
        return REFUSED
    return 0
