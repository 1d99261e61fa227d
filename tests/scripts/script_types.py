#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""script_types.py tables|verbs: the part of resources/script_api.d.ts that `kvlab list tables --json`, or
`kvlab list verbs --json`, describes on standard input."""
import json
import sys
import textwrap

COLUMN = {"integer": "number", "number": "number", "text": "string", "flag": "boolean", "value": "any"}
ARGUMENT = {
    "true or false": "boolean", "text": "string", "file to read": "string", "file to write": "string",
    "token ids": "number[]", "ledger ids": "number[]", "numbers": "number[]", "actions": "Action[] | Action",
    "object": "object",
}


def argument_type(argument):
    text = argument["type"]
    if text.startswith("one of "):
        return " | ".join(f'"{word}"' for word in text[len("one of "):].split(", "))
    if text.split()[0] in ("integer", "number"):
        return "number"
    return argument.get("shape") or ARGUMENT.get(text, "any")


def members(args, between="; "):
    return between.join(f'{one["name"]}{"" if one["required"] else "?"}: {argument_type(one)}' for one in args)


def methods(name, args, answer, shape=""):
    """The ways in which prelude.js takes the arguments: in order, with an object behind them that names further ones."""
    needed, further = [one for one in args if one["required"]], [one for one in args if not one["required"]]
    # An object in the last place names arguments, so that it cannot be the value of one.
    places = {0} if any(argument_type(one) in ("any", "object") for one in further) else {0, 1, len(further)}
    forms = []

    def named(some):
        return " & ".join(([f"{{ {members(some)} }}"] if some else []) + ([shape] if shape else []))

    for place in sorted(place for place in places if place <= len(further)):
        options = named(further[place:])
        forms.append(", ".join(filter(None, [members(needed + further[:place], ", "), options and f"options?: {options}"])))
    if needed and (shape or len(args) > 1) and argument_type(needed[0]) != ARGUMENT["actions"]:  # an object is an action
        forms.append(f"options: {named(args)}")
    return [f"  {name}({form}): {answer};" for form in forms]


def comment(text, indent=""):
    lines = textwrap.wrap(text, 116 - len(indent), break_on_hyphens=False)
    if len(lines) == 1:
        return [f"{indent}/** {text} */"]
    return [f"{indent}/** {lines[0]}"] + [f"{indent} * {line}" for line in lines[1:-1]] + [f"{indent} * {lines[-1]} */"]


def tables(listed):
    lines = []
    for table in listed:
        lines += comment(f'{table["title"]} A cell is null where it is not known, or does not apply.')
        lines.append(f'interface {row_of(table)} {{')
        for column in table["columns"]:
            lines += comment(column["help"], "  ") + [f'  {column["name"]}: {COLUMN[column["type"]]} | null;']
        lines += ["}", ""]
    lines.append("interface Session {")
    for table in listed:
        lines += comment(table["title"], "  ") + methods(table["id"], table["args"], row_of(table) + "[]", "TableShape")
        if table["id"] == "ledger":
            lines.append(f"  ledger(id: number): {row_of(table)};")
    return lines + ["}"]


def row_of(table):
    return "RowOf" + table["id"][0].upper() + table["id"][1:]


def verbs(listed):
    """The methods of sessions, lanes and batches that are verbs. Lanes and batches call theirs without the prefix."""
    parts = {"Session": [], "Lanes": [], "Batch": []}

    def add(part, name, verb, help, answer):
        parts[part] += comment(help, "  ") + methods(name, verb["args"], answer)

    for verb in listed:
        name, prefix = verb["id"], {"own": "lanes", "batch": "batch"}.get(verb["lanes"])
        if prefix:
            if name.startswith(prefix):
                name = name[len(prefix)].lower() + name[len(prefix) + 1:]
                add(prefix.capitalize(), name, verb, verb["title"], verb["gives"])
        elif not verb["lanes"].startswith(("opens", "closes")) and name != "at":  # prelude.js has methods for these
            add("Session", name, verb, verb["title"], verb["gives"])
            if verb["lanes"] in ("feeds", "steps"):
                answer = "LanesTick" if verb["lanes"] == "feeds" else verb["gives"].replace("TickReport", "LanesTick")
                add("Lanes", name, verb, f"Does what {name}() of a session does, in all lanes.", answer)
    out = []
    for part, lines in parts.items():
        out += [f"interface {part} {{", *lines, "}", ""]
    return out[:-1]


print("\n".join({"tables": tables, "verbs": verbs}[sys.argv[1]](json.load(sys.stdin))))
