#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of resources/script_api.d.ts that `kvlab list tables --json` (standard input) describes."""
import json
import sys

COLUMN = {"integer": "number", "number": "number", "text": "string", "flag": "boolean", "value": "any"}


def argument_type(text):
    if text.startswith("one of "):
        return " | ".join(f'"{word}"' for word in text[len("one of "):].split(", "))
    if text.split()[0] in ("integer", "number"):
        return "number"
    return {"true or false": "boolean", "text": "string"}.get(text, "any")


def members(args):
    return "; ".join(f'{one["name"]}{"" if one["required"] else "?"}: {argument_type(one["type"])}' for one in args)


def methods(table, row):
    needed = [one for one in table["args"] if one["required"]]
    further = [one for one in table["args"] if not one["required"]]
    positional = [members([one]) for one in needed]
    options = f'options?: {{ {members(further)} }} & TableShape' if further else "options?: TableShape"
    forms = [", ".join(positional + [options])]
    if further:
        forms.append(", ".join(positional + [members([one]) for one in further] + ["options?: TableShape"]))
    forms.append(f'options: {{ {members(table["args"])} }} & TableShape' if needed else None)
    return [f'  {table["id"]}({form}): {row}[];' for form in forms if form]


tables = json.load(sys.stdin)
lines = []
for table in tables:
    row = "RowOf" + table["id"][0].upper() + table["id"][1:]
    lines += [f'/** {table["title"]} A cell is null where it is not known, or does not apply. */', f"interface {row} {{"]
    for column in table["columns"]:
        lines += [f'  /** {column["help"]} */', f'  {column["name"]}: {COLUMN[column["type"]]} | null;']
    lines += ["}", ""]
lines.append("interface Session {")
for table in tables:
    row = "RowOf" + table["id"][0].upper() + table["id"][1:]
    lines.append(f'  /** {table["title"]} */')
    lines += methods(table, row)
    if table["id"] == "ledger":
        lines.append(f"  ledger(id: number): {row};")
lines.append("}")
print("\n".join(lines))
