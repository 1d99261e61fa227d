# SPDX-License-Identifier: Apache-2.0
"""Codecs, compressors, gists and lenses of one's own; test_policies.py has policies."""
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import numpy as np

import kvlab

SHAPE = {"budget": 64, "protect": 8, "every": 1, "cooldown": 0, "start_tokens": 32}  # of wlod
STORY = ("Anna has a red ball . Tom has a lamp . The lamp is in the box . Tom goes to the garden . Anna takes the ball . "
         "Where is the lamp ? Tom takes the box . ")


@kvlab.codec
class Signs:
    "One bit a value, and the mean magnitude of the head."

    def encode(self, heads):
        return heads.values > 0, np.abs(heads.values).mean(axis=1, keepdims=True)

    def decode(self, code, heads):
        bits, scale = code
        return np.where(bits, scale, -scale)


@kvlab.codec
class Levels:
    "Whole steps of the largest value of a head."
    options = {"bits": 4}

    def encode(self, heads):
        scale = np.abs(heads.values).max(axis=1, keepdims=True) / (2 ** (heads.options["bits"] - 1) - 1)
        return np.rint(np.divide(heads.values, scale, out=np.zeros_like(heads.values), where=scale > 0)), scale

    def decode(self, code, heads):
        codes, scale = code
        return codes * scale


@kvlab.codec
class ChosenLayers:
    "Keys of odd heads in layer 1 lose half of their values."

    def encode(self, heads):
        return heads.values

    def decode(self, code, heads):
        odd = (np.arange(code.shape[1]) % 2 == 1) & (heads.heads[:, None] % 2 == 1)
        return np.where(odd & (heads.keys and heads.layer == 1), 0, code)


@kvlab.compressor
class KeepsBrighter:
    "The brighter token of a pair stands for both."

    def replace(self, pairs):
        return pairs.tokens[np.arange(len(pairs)), pairs.brightness.argmax(axis=1)]


@kvlab.compressor
class Never:
    def replace(self, pairs):
        return [None] * len(pairs)


@kvlab.gist
class Ends:
    "The mean of the first and the last child."

    def gists(self, nodes):
        return (nodes.children[:, 0] + nodes.children[:, -1]) / 2


@kvlab.lens
class Late:
    "Detail at the end of the time line."
    options = {"half": 0.5}

    def scores(self, entries):
        assert entries.vectors.shape[0] == len(entries) == len(entries.level)
        return np.where(entries.start > entries.length * entries.options["half"], 0.9, -0.9)


class Conformance(unittest.TestCase):
    def holds(self, found):
        for one in found:
            self.assertTrue(one["ok"], one)
        return {one["check"] for one in found}

    def test_codecs(self):
        for name in ("signs", "levels", Levels, "chosen_layers"):
            self.assertLessEqual({"alone", "heads", "again", "undo"}, self.holds(kvlab.check_codec(name)))
        self.holds(kvlab.check_codec("levels", bits=2))

    def test_compressors(self):
        self.holds(kvlab.check_compressor("keeps_brighter"))
        self.holds(kvlab.check_compressor(Never))

    def test_gists_and_lenses(self):
        self.holds(kvlab.check_gist("ends"))
        self.holds(kvlab.check_lens("late", half=0.25))

    def test_a_codec_that_looks_at_other_rows_does_not_hold_it(self):
        @kvlab.codec
        class Shared:
            def encode(self, heads):
                return heads.values, np.abs(heads.values).max()

            def decode(self, code, heads):
                values, scale = code
                return np.rint(values / scale * 7) * scale / 7

        found = {one["check"]: one["ok"] for one in kvlab.check_codec("shared")}
        self.assertFalse(found["alone"])
        self.assertTrue(found["repeats"])

    def test_a_codec_that_flips_coins_does_not_hold_it(self):
        coins = np.random.default_rng()

        @kvlab.codec
        class Noise:
            def encode(self, heads):
                return heads.values + coins.normal(0, 0.01, heads.values.shape)

            def decode(self, code, heads):
                return code

        self.assertFalse({one["check"]: one["ok"] for one in kvlab.check_codec("noise")}["repeats"])


class Codecs(unittest.TestCase):
    def sound(self, s):
        self.assertFalse([one for one in s.invariants() if not one["ok"]])

    def test_rows_are_what_comes_back(self):
        with kvlab.open("demo", kv={"k": "levels:bits=3"}, dtype="f32") as s, kvlab.open("demo", dtype="f32") as t:
            s.prompt(STORY), t.prompt(STORY)
            (k, v), (exact_k, exact_v) = s.rows_array(0), t.rows_array(0)
            scale = np.abs(exact_k).max(axis=2, keepdims=True) / 3
            self.assertLess(np.abs(k - np.rint(exact_k / scale) * scale).max(), 1e-5)
            self.assertTrue(np.array_equal(v, exact_v))
            self.assertTrue(s.storage(0)["k"].startswith("levels:bits=3,revision=r"))
            self.assertEqual(s.storage(0)["v"], "f32")

    def test_one_layer_and_a_living_session(self):
        with kvlab.open("demo", dtype="f32") as s:
            s.prompt(STORY)
            before = s.state_hash
            s.settings(layers=[{"match": 1, "kv": {"k": "signs", "v": "levels:bits=5"}}])
            self.assertNotEqual(s.state_hash, before)
            self.assertEqual(s.storage(0)["k"], "f32")
            s.step(4)
            self.sound(s)
            s.undo(5)
            self.assertEqual(s.state_hash, before)

    def test_errors_of_a_coarser_codec_are_larger(self):
        means = []
        for bits in (8, 5, 3):
            with kvlab.open("demo", dtype="f32", kv={"k": f"levels:bits={bits}", "v": f"levels:bits={bits}"}) as s:
                s.prompt(STORY)
                means.append(s.quantisation()[1]["k"]["mean"])
        self.assertLess(0, means[0])
        self.assertEqual(means, sorted(means))

    def test_lanes(self):
        changes = [{"kv": {"k": "signs"}}, {"kv": {"k": "levels:bits=8"}}]
        with kvlab.open("demo", dtype="f32") as s, s.lanes(changes) as lanes:
            lanes.prompt(STORY)
            lanes.step(4)
            for i in (1, 2):
                self.sound(lanes[i])

    def test_it_is_refused_by_name(self):
        for kv, why in (({"k": "sings"}, "signs"), ({"k": "levels:bits=much"}, "bits"),
                        ({"k": "levels:depth=3"}, "depth"), ({"v": "levels:revision=r0"}, "revision r0")):
            with self.assertRaises(kvlab.Error) as caught:
                kvlab.open("demo", kv=kv)
            self.assertIn(why, caught.exception.why)
        with self.assertRaisesRegex(kvlab.Error, "encoded again"):
            kvlab.open("demo", kv={"k": "signs"}, key_phase="at_write")

    def test_a_capture_needs_the_codec(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "signs.kvcap")
            with kvlab.open("demo", kv={"k": "signs"}) as s:
                s.prompt(STORY)
                s.save_capture(path)
            script = f"import kvlab; kvlab.open_capture({path!r})"
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=dict(os.environ))
            self.assertIn("names the codec signs, which nobody has added: kvlab.codec in Python does", done.stderr)


class Rules(unittest.TestCase):
    def test_pairs_are_replaced(self):
        for name, step in (("keeps_brighter", -1), ("never", 1)):
            with kvlab.open("demo", brightness={"compressor": name, "target": 20}) as s:
                s.prompt(STORY)
                length = len(s)
                s.step(3)
                self.assertEqual(len(s), length + 3 * step)

    def test_trees(self):
        with kvlab.open("demo", wlod={**SHAPE, "gist": "ends", "lens": "late"}) as s:
            s.prompt(STORY * 5)
            s.step(3)
            tree = s.tree()
            self.assertTrue(tree["gist"].startswith("ends:revision=r"))
            self.assertTrue(tree["lens"].startswith("late:half=0.5,revision=r"))
            self.assertFalse([one for one in s.invariants() if not one["ok"]])

    def test_every_kind_names_the_line_that_failed(self):
        class Broken:
            def encode(self, heads):
                return [1 / 0 for _ in range(len(heads))]

            def decode(self, code, heads):
                return code

            def replace(self, pairs):
                return [1 / 0 for _ in range(len(pairs))]

            def gists(self, nodes):
                return [1 / 0 for _ in range(len(nodes))]

            def scores(self, entries):
                return [1 / 0 for _ in range(len(entries))]

        for kind, manifest in (("codec", {"kv": {"k": "broken"}}),
                               ("compressor", {"brightness": {"compressor": "broken", "target": 4}}),
                               ("gist", {"wlod": {**SHAPE, "gist": "broken"}}),
                               ("lens", {"wlod": {**SHAPE, "lens": "broken"}})):
            getattr(kvlab, kind)(Broken)
            with kvlab.open("demo", **manifest) as s:
                before = s.state_hash
                with self.assertRaises(kvlab.Error, msg=kind) as caught:
                    s.prompt(STORY * 5)
                    before = s.state_hash
                    s.step(2)
                self.assertEqual(caught.exception.code, f"bad_{kind}")
                self.assertIn("return [1 / 0 for", caught.exception.why)
                self.assertEqual(s.state_hash, before)

    def test_what_cannot_be_added(self):
        for kind, method in (("codec", "encode"), ("compressor", "replace"), ("gist", "gists"), ("lens", "scores")):
            add = getattr(kvlab, kind)
            with self.assertRaises(kvlab.Error) as caught:
                add(type("Wrong", (), {}))
            self.assertEqual((caught.exception.code, caught.exception.field), (f"bad_{kind}", method))
            with self.assertRaisesRegex(kvlab.Error, "not a class"):
                add(lambda rows: rows)
        with self.assertRaisesRegex(kvlab.Error, "row type"):
            kvlab.codec(type("Wrong", (), {"name": "int8", "encode": Signs.encode, "decode": Signs.decode}))

    def test_wrong_answers_are_refused(self):
        @kvlab.codec
        class Few:
            def encode(self, heads):
                return heads.values

            def decode(self, code, heads):
                return code[:, :1]

        @kvlab.codec
        class Peeks:
            def encode(self, heads):
                return None

            def decode(self, code, heads):
                return heads.values

        @kvlab.codec
        class Loses:
            def encode(self, heads):
                return heads.values

            def decode(self, code, heads):
                return code * np.nan

        for name, why in (("few", "an array"), ("peeks", "only what encode() gave"), ("loses", "not finite")):
            with kvlab.open("demo", kv={"v": name}) as s, self.assertRaises(kvlab.Error) as caught:
                s.prompt(STORY)
            self.assertIn(why, caught.exception.why)


@unittest.skipUnless(os.environ.get("KVLAB"), "KVLAB names no program")
class Program(unittest.TestCase):
    MODULE = """
        import kvlab, numpy as np

        @kvlab.codec
        class Coarse:
            def encode(self, heads):
                return np.rint(heads.values)

            def decode(self, code, heads):
                return code
    """
    SCRIPT = """
        const s = lab.open({ model: "demo", kv: { k: "coarse" } });
        s.prompt("Anna has a red ball .");
        const reports = s.step(3);
        if (!reports.every(one => one.ok)) throw new Error(reports[reports.length - 1].error.why);
        log(s.storage(0).k);
    """

    def test_a_file_of_rules(self):
        with tempfile.TemporaryDirectory() as folder:
            file, script = pathlib.Path(folder, "own.py"), pathlib.Path(folder, "s.js")
            file.write_text(textwrap.dedent(self.MODULE))
            script.write_text(textwrap.dedent(self.SCRIPT))
            words = [os.environ["KVLAB"], "run", str(script), "--policy-module", str(file)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=100,
                                  env={**os.environ, "KVLAB_PYTHON": sys.executable})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("coarse:revision=r", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
