# SPDX-License-Identifier: Apache-2.0
"""Names of the engine in Python: promptIds is prompt_ids."""
import inspect
import keyword
import re


def snake(name):
    out = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return out + "_" if keyword.iskeyword(out) else out


def signature(args, more=()):
    """Parameters of a method: those that must be given, then those that need not, None where the engine decides."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    out = [inspect.Parameter("self", kind)]
    seen_optional = False
    for one in args:
        seen_optional = seen_optional or not one["required"]
        default = one.get("default") if seen_optional else inspect.Parameter.empty
        out.append(inspect.Parameter(snake(one["name"]), kind, default=default))
    out += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in more]
    return inspect.Signature(out)


def given(sign, names, self, values, named):
    """The engine's arguments of a call: those that were given and are not None."""
    bound = sign.bind(self, *values, **named)
    return {names[key]: value for key, value in bound.arguments.items() if key != "self" and value is not None}


def described(help, args, columns=()):
    """A docstring."""
    lines = [help, ""]
    for one in args:
        default = f", {one['default']!r} unless given" if "default" in one else "" if one["required"] else ", may be left out"
        lines.append(f"{snake(one['name'])}: {one['type']}{default}")
    if columns:
        lines += ["", "Columns:"] + [f"  {one['name']} ({one['type']}): {one['help']}" for one in columns]
    return "\n".join(lines).rstrip()
