# SPDX-License-Identifier: Apache-2.0
"""kvlab as a server of the Model Context Protocol over standard input and output: ten tools for a language model.

    pip install kvlab[mcp]
    kvlab mcp

A tool that is a verb of the engine has the schema and the help of the verb.
"""
import argparse
import base64
import json

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import kvlab
from kvlab._names import snake
from kvlab._session import of_session
from kvlab._window import Picture

_VERBS = {one["id"]: one for one in kvlab.lists("verbs")}
_STEPS = {"type": "integer", "minimum": 0, "maximum": 4096, "default": 0, "description": "so many tokens are generated then"}
_MOST = 24  # entries of a list in an answer
_MANIFEST = {"type": "object", "description": "keys of the manifest: " + "; ".join(
    f"{one['id']} ({one['type']})" for one in kvlab.lists("manifest"))}
_SHAPES = (
    ("token ids", {"type": "array", "items": {"type": "integer"}}),
    ("ledger ids", {"type": "array", "items": {"type": "integer"}}),
    ("numbers", {"type": "array", "items": {"type": "number"}}),
    ("actions", {"type": "array", "items": {"type": "object"}, "description": "as {\"action\": \"delete\", \"position\": 2}; "
                 "an action is replace_pair, replace, add, delete, insert, evict, expand or collapse"}),
    ("list", {"type": "array"}),
    ("object", {"type": "object"}),
    ("arguments", {"type": "object"}),
    ("true or false", {"type": "boolean"}),
    ("policy", {}),
    ("as in a manifest", {}),
)


def _shape(arg):
    """The JSON schema of an argument of the engine."""
    kind, *bounds = arg["type"].replace(" .. ", " ").split(" ")
    out = {"type": "string"}
    if "words" in arg:
        out = {"enum": arg["words"]}
    elif kind in ("integer", "number") and len(bounds) == 2:
        out = {"type": kind, "minimum": json.loads(bounds[0]), "maximum": json.loads(bounds[1])}
    else:
        out = dict(next((shape for start, shape in _SHAPES if arg["type"].startswith(start)), out))
    return {**out, "default": arg["default"]} if "default" in arg else out


def _is_edit(verb):
    """Verbs that change a session, beside those that have a tool of their own or touch files."""
    files = any(one["type"].startswith("file") for one in verb["args"])
    return of_session(verb) and verb["effect"] in ("marks", "queues", "commits") and verb["lanes"] == "reference" and not files


_EDITS = {name: one for name, one in _VERBS.items() if _is_edit(one) or name in ("undo", "redo", "goto")}


class Tools:
    """The tools, and the sessions that they have opened."""

    def __init__(self):
        self._sessions, self._findings = {}, {}

    def open(self, model="demo", manifest=None, capture=None):
        """Opens a session: a model with its KV cache, or what a capture file holds. Later tools mean the newest session
        unless they name one."""
        opened = kvlab.open_capture(capture) if capture else kvlab.open(model, **(manifest or {}))
        name = f"s{len(self._sessions) + 1}"
        self._sessions[name], self._findings[name] = opened, []
        return {"session": name, **self._state(name)}

    def prompt(self, session, text=None, steps=0):
        before = len(self._sessions[session])
        if text is not None:
            self._keep(session, [self._sessions[session].prompt(text)])
        reports = self._sessions[session].step(steps) if steps else []
        self._keep(session, reports)
        return {"took": len(self._sessions[session]) - before, "generated": "".join(one["text"] for one in reports),
                **self._state(session)}

    def edit(self, session, verb="inject", args=None):
        if verb not in _EDITS:
            raise kvlab.Error("unknown_verb", "the edit was refused", f"{verb!r} is no edit", f"name one of {', '.join(_EDITS)}")
        answer = self._sessions[session].verb(verb, **(args or {}))
        return {"answer": answer, **self._state(session)}

    def compare(self, session, changes, text=None, steps=8):
        """Runs the session beside others that differ from it by keys of the manifest, and tells how they differ after the
        same tokens: divergence of the next token, rows, bytes. The session stays as it is."""
        with self._sessions[session].lanes(changes) as lanes:
            if text is not None:
                lanes.prompt(text)
            if steps:
                lanes.step(steps)
            return {"lanes": lanes.report()}

    def explain(self, session, ledger=None, layer=None):
        """Checks every invariant in full and explains a finding: what is broken, between which ticks it came, which commits
        lie there, and for a row its cause and its story in the layer. Without a row it takes the first finding that
        names one."""
        s = self._sessions[session]
        broken = [one for one in s.invariants() if not one["ok"]]
        out = {"broken": broken, "findings": self._findings[session]}
        named = [one for one in self._findings[session] if one.get("ledger") is not None and one.get("layer") is not None]
        if ledger is None and named:
            ledger, layer = named[0]["ledger"], named[0]["layer"]
        if ledger is not None:
            layer = layer or 0
            out["row"] = {"ledger": ledger, "layer": layer, "token": s.ledger(ledger)[0], "cause": s.why(ledger, layer=layer),
                          "story": list(s.story(ledger, layer)), "history": list(s.history(ledger))}
        since = next((one["since"] for one in broken + self._findings[session] if one.get("since")), None)
        if since:
            first = since.get("verified", since.get("computed", 0))
            out["commits"] = list(s.ticks(first, columns=["tick", "verb", "words", "text"], where=f"tick <= {since['found']}",
                                          limit=64))
        return out

    def run_back(self, session, condition=None):
        return {"answer": self._sessions[session].run_back(condition), **self._state(session)}

    def row_history(self, session, ledger, layer=None):
        """Tells what happened to a token, as far as history keeps it; with a layer everything that happened to its row there:
        written, turned, moved, left, made inexact, and by which command."""
        s = self._sessions[session]
        return {"rows": list(s.history(ledger) if layer is None else s.story(ledger, layer))}

    def difference(self, session, tick=None, branch=None):
        return self._sessions[session].difference(tick=tick, branch=branch)

    def sweep(self, spec, out=None, resume=False, jobs=0):
        """Runs a sweep, every combination of settings on the same questions, and gives its summary: recall, divergence and
        bytes with intervals. Its files stand in the folder `out`."""
        done = kvlab.sweep(spec, out=out, resume=resume, jobs=jobs)
        return {"out": str(done.out), "cells": len(done), "found": done.found, "failed": done.failed,
                "summary": list(done.summary)}

    def picture(self, session, view="map"):
        """Shows a view of the session as a picture: map, strip, numbers or another view of the window; window is all of
        it."""
        return self._sessions[session].view(view)

    def close(self):
        for one in self._sessions.values():
            one.close()

    def call(self, name, args):
        """The answer of a tool."""
        known = INPUTS[name]["properties"]
        for one in args:
            if one not in known:
                raise kvlab.Error("bad_argument", f"{name} was refused", f"{one!r} is none of {', '.join(known)}",
                                  "leave it out", field=one)
        for one in INPUTS[name]["required"]:
            if one not in args:
                raise kvlab.Error("bad_argument", f"{name} was refused", f"{one} is missing", "give it", field=one)
        if "session" in known:
            args = {"session": next(reversed(self._sessions), None), **args}
            if args["session"] not in self._sessions:
                raise kvlab.Error("unknown_session", f"{name} was refused", f"there is no session {args['session']!r}",
                                  "open one", field="session", value=args["session"])
        return getattr(self, name)(**args)

    def _state(self, name):
        columns = ["tick", "branch", "length", "remaining"]
        return next(iter(self._sessions[name].state(columns=columns)))

    def _keep(self, name, reports):
        for report in reports:
            self._findings[name] += report.get("violations", [])


def _input(properties, required=(), session=True):
    own = {"session": {"type": "string", "description": "the newest unless given"}} if session else {}
    return {"type": "object", "properties": {**own, **properties}, "required": list(required), "additionalProperties": False}


def _of_verb(name):
    args = _VERBS[name]["args"]
    return _input({snake(one["name"]): _shape(one) for one in args}, [snake(one["name"]) for one in args if one["required"]])


def _listed(verbs):
    return "\n".join(f"{name}({', '.join(one['name'] for one in verb['args'])}): {verb['title']}" for name, verb in verbs.items())


_ROW = {"type": "integer", "minimum": 0, "description": "id of the row in the ledger"}
_LAYER = {"type": "integer", "minimum": 0}
_TEXT = {"type": "string", "description": _VERBS["prompt"]["title"]}
INPUTS = {
    "open": _input({"model": {"type": "string", "default": "demo", "description": kvlab.lists("manifest")[0]["title"]},
                    "manifest": _MANIFEST, "capture": {"type": "string", "description": "a file, in place of a model"}},
                   session=False),
    "prompt": _input({"text": _TEXT, "steps": _STEPS}),
    "edit": _input({"verb": {"enum": list(_EDITS), "default": "inject"},
                    "args": {"type": "object", "description": "arguments of the verb"}}),
    "compare": _input({"changes": {"type": "array", "items": _MANIFEST, "minItems": 1}, "text": _TEXT,
                       "steps": {**_STEPS, "default": 8}}, ["changes"]),
    "explain": _input({"ledger": _ROW, "layer": _LAYER}),
    "run_back": _of_verb("runBack"),
    "row_history": _input({"ledger": _ROW, "layer": _LAYER}, ["ledger"]),
    "difference": _of_verb("difference"),
    "sweep": _input({"spec": {"type": ["object", "string"], "description": "a specification, or the name of its file, or of one "
                              "that comes with the package: smartkv, layouts, windows"},
                     "out": {"type": "string"}, "resume": {"type": "boolean", "default": False},
                     "jobs": {"type": "integer", "minimum": 0, "default": 0}}, ["spec"], session=False),
    "picture": _input({"view": {"type": "string", "default": "map"}}),
}
_HELP = {
    "prompt": _VERBS["prompt"]["title"] + " " + _VERBS["step"]["title"],
    "edit": "Changes a session by a verb of the engine:\n" + _listed(_EDITS),
    "run_back": _VERBS["runBack"]["title"],
    "difference": _VERBS["difference"]["title"],
}


def _tools():
    for name, given in INPUTS.items():
        text = _HELP.get(name) or " ".join(getattr(Tools, name).__doc__.split())
        yield types.Tool(name=name, description=text, input_schema=given)


def _short(value):
    """The value with no list longer than a reader wants it."""
    if isinstance(value, dict):
        return {name: _short(one) for name, one in value.items()}
    if isinstance(value, list):
        more = [f"and {len(value) - _MOST} more"] if len(value) > _MOST else []
        return [_short(one) for one in value[:_MOST]] + more
    return value


def _content(answer):
    if isinstance(answer, Picture):
        return types.ImageContent(type="image", data=base64.b64encode(answer.png).decode(), mime_type="image/png")
    return types.TextContent(type="text", text=json.dumps(_short(answer), default=str))


def server(tools):
    """The server for a set of tools."""
    asked = anyio.Lock()

    async def list_tools(context, params):
        return types.ListToolsResult(tools=list(_tools()))

    async def call_tool(context, params):
        if params.name not in INPUTS:
            error = {"code": "unknown_tool", "what": "the call was refused", "why": f"{params.name} is no tool of this server"}
            return types.CallToolResult(content=[_content(error)], is_error=True)
        try:
            async with asked:
                answer = await anyio.to_thread.run_sync(tools.call, params.name, dict(params.arguments or {}))
            return types.CallToolResult(content=[_content(answer)])
        except kvlab.Error as error:
            said = error.__dict__
        except Exception as error:  # the client can correct its call
            said = {"code": "bad_argument", "what": f"{params.name} was refused", "why": f"{type(error).__name__}: {error}"}
        return types.CallToolResult(content=[_content(said)], is_error=True)

    return Server("kvlab", on_list_tools=list_tools, on_call_tool=call_tool,
                  instructions="kvlab opens a model with its KV cache, edits it row by row, and finds and explains damage.")


async def _serve(tools):
    made = server(tools)
    async with stdio_server() as (reads, writes):
        await made.run(reads, writes, made.create_initialization_options())


def main(argv=None):
    """Serves until the client ends."""
    argparse.ArgumentParser(prog="kvlab mcp", description="kvlab's tools for a language model, over standard input and output"
                            ).parse_args(argv)
    kvlab.show_progress(False)
    tools = Tools()
    try:
        anyio.run(_serve, tools)
    finally:
        tools.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
