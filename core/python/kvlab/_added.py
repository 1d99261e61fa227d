# SPDX-License-Identifier: Apache-2.0
"""Rules of one's own, of whatever kind: how a class is added, and how the engine asks it."""
import hashlib
import inspect
import os
import re
import traceback
import typing

import numpy as np

from . import _core
from ._errors import Error, checked, interrupts

_PACKAGE = os.path.dirname(__file__) + os.sep


def guarded(function):
    """Calls give (value, None) or (None, why); why ends with the line of the rule that failed."""

    def call(given):
        try:
            return function(given), None
        except BaseException as error:  # KeyboardInterrupt, too: the engine ends the tick, and the call raises it
            if isinstance(error, KeyboardInterrupt):
                interrupts.append(error)
            frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith(_PACKAGE)]
            place = f" ({frames[-1].filename}, line {frames[-1].lineno}: {frames[-1].line})" if frames else ""
            return None, f"{type(error).__name__}: {error}{place}"

    return call


class Added(typing.NamedTuple):
    told: dict
    answer: typing.Callable


#: Rules by kind and name, with the functions that the engine calls.
ADDED: dict[tuple[str, str], Added] = {}


class Given:
    """What a rule is given, as attributes."""

    def __init__(self, question):
        self.__dict__.update(question)


def _revision(cls):
    """A word from a digest of the class's text, so that nothing is repeated with another rule."""
    try:
        text = inspect.getsource(cls)
    except (OSError, TypeError):  # typed at a prompt
        codes = [one.__code__ for one in vars(cls).values() if inspect.isfunction(one)]
        plain = (bool, bytes, float, int, str, type(None))  # others have addresses in their text
        text = repr([(one.co_code, [value for value in one.co_consts if isinstance(value, plain)]) for one in codes])
    return "r" + hashlib.sha256(text.encode()).hexdigest()[:15]


def made(kind, cls, *methods):
    """The object of a class that shall be a rule, which must have the methods, and what the engine is told of it."""
    if not inspect.isclass(cls):
        raise Error(f"bad_{kind}", f"a {kind} was not added", f"{cls!r} is not a class",
                    f"put @kvlab.{kind} before a class")
    own, options = cls(), getattr(cls, "options", {})
    name = getattr(cls, "name", None) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
    for method in methods:
        if not callable(getattr(own, method, None)):
            raise Error(f"bad_{kind}", f"the {kind} {name} was not added", f"it has no method {method}",
                        f"define {method}", field=method)
    if not isinstance(options, dict):
        raise Error(f"bad_{kind}", f"the {kind} {name} was not added", f"its options are {options!r}",
                    'write a dict of defaults, as {"alpha": 0.5}', field="options")
    help = inspect.cleandoc(cls.__doc__ or f"a {kind} in Python").splitlines()[0]
    return own, {"kind": kind, "name": name, "help": help, "options": options, "revision": _revision(cls)}


def add(cls, told, **answers):
    """Adds a rule with its answers to what may be asked; each takes the question and gives bytes or an array."""

    def answer(question):
        question = {key: value for key, value in question.items() if key not in ("kind", "name")}
        return answers[question.pop("what")](question)

    one = Added(told, guarded(answer))
    checked((None, _core.add_rule(told, one.answer)))
    ADDED[told["kind"], told["name"]] = one
    cls.rule_name = told["name"]
    return cls


def numbers(value, shapes, dtype=np.float32):
    """An array of one of the shapes."""
    out = np.ascontiguousarray(value, dtype=dtype)
    if out.shape not in shapes:
        wanted = " or ".join(str(list(shape)) for shape in shapes)
        raise ValueError(f"it gave an array {list(out.shape)}, not {wanted}")
    return out
