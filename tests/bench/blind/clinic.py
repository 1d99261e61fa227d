# SPDX-License-Identifier: Apache-2.0
"""The rows that each bug of the clinic leaves behind: its case's session with the bug planted, and the twin without.
Some cases end where a check of kvlab sees the bug, before a row is wrong: their sessions go on. On another model than
that of the case random tokens stand for the words, and windows are those that the model has."""
import dataclasses
import functools
import json
import tempfile

import numpy as np

import kvlab
import rows

CASES = rows.ROOT / "resources" / "clinic"
STEP, UNDO = {"verb": "step", "n": 8}, {"verb": "undo"}
ONWARD = {"slot_freed_twice": [STEP], "shared_tail_page": [{"verb": "step", "n": 4}] + [UNDO] * 5,
          "page_leak": [STEP], "trim_after_wrap_ignored": [STEP], "policy_never_ran": [STEP]}
OF_WINDOWS = ("window_plus_one", "window_lost_at_one")
KEPT = ("shift_of_codes",)  # cases whose edit keeps the rows behind it: nobody can tell them without the text before
OF_ONE_MODEL = ("rope_factor_switch", "foreign_rows")  # factors for two lengths; a text of different words


def names():
    return sorted(path.stem for path in CASES.glob("*.json"))


@functools.cache
def _tokens(text):
    with kvlab.open("demo", threads=1) as session:
        session.prompt(text)
        return len(session)


def _run(case, planted, folder, model, length):
    manifest = {"model": "demo", "threads": 1, **rows.EXACT, **case["session"], "faults": True}
    if model:
        manifest["model"] = model.name
        manifest.pop("layers", None)
    draw = np.random.default_rng(3)
    with kvlab.open(**manifest) as session:
        def steps(which):
            for step in which:
                args = {key: value for key, value in step.items() if key != "verb"}
                verb = step["verb"]
                if model and verb == "prompt":
                    count = max(_tokens(args["text"]), length or 0)
                    verb, args = "promptIds", {"ids": [int(i) for i in draw.integers(3, model.vocab, count)]}
                for key, value in args.items():
                    if isinstance(value, dict) and set(value) == {"temp"}:
                        args[key] = f"{folder}/{value['temp']}"
                session.verb(verb, **args)
        steps(case["before"])
        before = [int(i) for i in session.tokens] if case["bug"] in KEPT else None
        if planted:
            session.verb("bug", name=case["bug"])
        steps(case["after"] + ONWARD.get(case["bug"], []))
        known = [one for one in rows.ALL if one.name == manifest["model"]]
        own = known[0] if known else rows.Model(manifest["model"], "llama", 256, (0,) * 4, 400)
        return dataclasses.replace(rows.taken(own, session), told=before)


def made(name, model=None, length=None):
    """(cache, the twin's, session keys of the case, True where their rows differ). length: tokens that a prompt has at
    least on another model. Unfit: not on this model."""
    case = json.loads((CASES / f"{name}.json").read_text())
    if model and (name in OF_ONE_MODEL or (name in OF_WINDOWS) != any(0 < window < 30 for window in model.windows)):
        raise rows.Unfit("the condition of the bug is not met")
    with tempfile.TemporaryDirectory() as folder:
        try:
            sick, well = (_run(case, planted, folder, model, length) for planted in (True, False))
        except kvlab.Error as error:
            raise rows.Unfit(str(error)) from error
    alike = sick.ids == well.ids and sick.positions == well.positions and all(
        np.array_equal(a, b) for a, b in zip(sick.keys + sick.values, well.keys + well.values))
    return sick, well, case["session"], not alike
