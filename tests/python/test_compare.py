# SPDX-License-Identifier: Apache-2.0
"""kvlab.compare on arrays: shapes, types, what is found, the report, refusals, signals."""
import html.parser
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import numpy as np

import kvlab

STORY = "Anna has a red ball . Tom has a lamp . The lamp is in the box . Tom goes to the garden . Where is the"


def exact():
    """(keys, values) of each layer of the demo model, [heads, rows, dim], and the ids."""
    with kvlab.open("demo", kv={"k": "f32", "v": "f32"}) as s:
        s.prompt(STORY)
        layers = [s.rows_array(layer, rotated=True) for layer in range(len(s.policies()["layers"]))]
        return [tuple(one.transpose(1, 0, 2) for one in pair) for pair in layers], s.tokens


MAPPING = {"keys": {"name": "layer{layer}.k", "axes": "heads rows dim"},
           "values": {"name": "layer{layer}.v", "axes": "heads rows dim"}}


def named(layers):
    return {f"layer{number}.{part}": array for number, pair in enumerate(layers) for part, array in zip("kv", pair)}


class Arrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.layers, cls.ids = exact()

    def compared(self, layers, **more):
        return kvlab.compare(layers, "demo", more.pop("ids", self.ids), **more)

    def test_rows_of_the_model_are_equal(self):
        found = self.compared(self.layers)
        self.assertEqual((found.outcome, found.causes), ("equal", []), found.verdict)
        self.assertEqual(found.layers, list(range(len(self.layers))))
        heads, rows, dim = self.layers[0][0].shape
        self.assertEqual(len(found.left), len(self.layers) * rows * heads)
        self.assertEqual(found.left["id"][:heads], [self.ids[0]] * heads)
        self.assertTrue(all(one <= bound for one, bound in zip(found.left["key"], found.left["key_bound"])))
        theirs = found.rows(1)["their_keys"]
        self.assertEqual(theirs.shape, (rows, heads, dim))
        np.testing.assert_array_equal(theirs, self.layers[1][0].transpose(1, 0, 2))
        self.assertEqual(found.left.to_arrow().num_rows, len(found.left))

    def test_shapes_strides_and_types(self):
        turned = [tuple(np.asfortranarray(one).transpose(1, 2, 0) for one in pair) for pair in self.layers]
        batch = [tuple(np.stack([one * 0, one]) for one in pair) for pair in self.layers]
        for layers, more in ((turned, {"axes": "rows dim heads"}), (batch, {"sequence": 1}),
                             ([tuple(one[None] for one in pair) for pair in self.layers], {}),
                             ([tuple(one.astype(np.float64) for one in pair) for pair in self.layers], {}),
                             ([tuple(one.astype(np.float16) for one in pair) for pair in self.layers], {})):
            found = self.compared(layers, **more)
            self.assertEqual(found.outcome, "equal", found.verdict)
        self.assertEqual(found.to_dict()["types"]["keys"], "f16")

    def test_a_cause_has_a_name(self):
        found = self.compared([(values, keys) for keys, values in self.layers])
        self.assertEqual(found.outcome, "explained", found.verdict)
        self.assertEqual(len(found.causes), 1)
        self.assertIn(found.causes[0]["text"], str(found))

    def test_one_wrong_row_is_found(self):
        layers = [tuple(one.copy() for one in pair) for pair in self.layers]
        layers[1][1][0, 9] += 0.5
        found = self.compared(layers)
        self.assertNotEqual(found.outcome, "equal")
        self.assertEqual({name: found.begins[name] for name in ("side", "layer", "head", "row")},
                         {"side": "values", "layer": 1, "head": 0, "row": 9})

    def test_named_arrays_with_a_mapping(self):
        arrays = named(self.layers)
        found = self.compared(arrays, mapping=MAPPING)
        self.assertEqual(found.outcome, "equal", found.verdict)

    def test_refusals_name_what_is_wrong(self):
        keys, values = self.layers[0]
        for cache, more, field in (([(keys.astype(np.uint8), values)], {}, "cache"), ([], {}, "cache"),
                                   ([(keys, values[:, :3])], {}, "cache"), ([keys], {}, "cache"), (7, {}, "cache"),
                                   ({"a": keys}, {}, "mapping"), ([(keys, values)], {"axes": "rows heads"}, "axes"),
                                   ([(np.stack([keys] * 2), np.stack([values] * 2))], {}, "sequence"),
                                   ([(keys, values)], {"positions": [0, 1]}, "cache"),
                                   ([(keys, values)], {"ids": [[1, 2], [3, 4]]}, "ids")):
            with self.subTest(field=field, more=more), self.assertRaises(kvlab.Error) as caught:
                self.compared(cache, **more)
            self.assertEqual((caught.exception.code, caught.exception.field), ("bad_argument", field))
            self.assertTrue(caught.exception.remedy)
        with self.assertRaises(kvlab.Error):
            kvlab.compare("no/such/file", "demo", self.ids)
        with self.assertRaises(kvlab.Error):
            kvlab.compare(self.layers, "no/such/model", self.ids)

    def test_an_interrupt_ends_the_search(self):
        wrong = [tuple(np.random.default_rng(3).normal(size=one.shape).astype(np.float32) for one in pair)
                 for pair in self.layers]
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            while time.monotonic() - begin < 20:
                self.compared(wrong)
        self.assertLess(time.monotonic() - begin, 10)


class Page(html.parser.HTMLParser):
    """Tags that are open at the end, and all names of tags."""

    EMPTY = {"meta", "br", "path", "rect", "circle"}

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        layers, ids = exact()
        layers[1][1][0, 9] += 0.5
        cls.found = kvlab.compare(layers, "demo", ids)

    def test_one_page_without_scripts_and_other_files(self):
        text = self.found.html()
        page = Page(text)
        self.assertEqual(page.open, [])
        self.assertFalse({"script", "link", "img", "iframe"} & set(page.seen))
        self.assertEqual(page.seen.count("figure"), 4)
        self.assertNotRegex(text, r"(src|href|url\()\s*=?\s*[\"'(]?http")
        self.assertIn("prefers-color-scheme:dark", text)
        self.assertIn('class="begin"', text)
        self.assertIn(kvlab.__version__, text)

    def test_a_file_and_a_notebook(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.html")
            self.found.to_html(path)
            self.assertEqual(path.read_text(encoding="utf-8"), self.found.html())
        self.assertEqual(Page(self.found._repr_html_()).seen, ["iframe"])
        self.assertIn(self.found.outcome, repr(self.found))
        self.assertEqual(json.loads(json.dumps(self.found.to_dict()))["outcome"], self.found.outcome)

    def test_texts_are_escaped(self):
        layers, ids = exact()
        with tempfile.TemporaryDirectory(prefix="<b>&") as folder:
            os.symlink(kvlab.resources() / "demo", pathlib.Path(folder, "demo"))
            text = kvlab.compare(layers, os.path.join(folder, "demo"), ids).html()
        self.assertIn("&lt;b&gt;&amp;", text)
        self.assertIsNone(re.search("<b>&", text))


@unittest.skipUnless(os.environ.get("KVLAB"), "KVLAB names no program")
class Command(unittest.TestCase):
    """kvlab compare on the same caches: exit codes, JSON, report, baseline."""

    @classmethod
    def setUpClass(cls):
        cls.layers, cls.ids = exact()
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        (cls.folder / "mapping.json").write_text(json.dumps(MAPPING))

    def run_compare(self, layers, *more):
        """(exit code, the JSON)"""
        np.savez(self.folder / "cache.npz", **named(layers))
        command = [os.environ["KVLAB"], "compare", self.folder / "cache.npz", "--mapping", self.folder / "mapping.json",
                   "--model", "demo", "--ids", ",".join(map(str, self.ids)), "--json", self.folder / "answer.json",
                   *more]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300,
                              env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})
        self.assertIn(done.returncode, (0, 1, 2), done.stderr)
        return done.returncode, json.loads((self.folder / "answer.json").read_text())

    def test_exit_codes_and_json_are_those_of_the_package(self):
        wrong = [tuple(one.copy() for one in pair) for pair in self.layers]
        wrong[1][1][0, 9] += 0.5
        for layers in (self.layers, [pair[::-1] for pair in self.layers], wrong):
            found = kvlab.compare(named(layers), "demo", self.ids, mapping=MAPPING)
            code, answer = self.run_compare(layers)
            self.assertEqual(code, {"equal": 0, "explained": 1, "unexplained": 2}[found.outcome])
            self.assertEqual((answer["verdict"], answer["causes"]), (found.verdict, found.causes))

    def test_report_and_baseline(self):
        code, answer = self.run_compare([pair[::-1] for pair in self.layers], "--html", self.folder / "report.html")
        self.assertEqual(code, 1)
        text = (self.folder / "report.html").read_text(encoding="utf-8")
        self.assertEqual(Page(text).open, [])
        self.assertIn(answer["verdict"].partition(" ")[0], text)
        (self.folder / "former.json").write_text(json.dumps(answer))
        code, answer = self.run_compare([pair[::-1] for pair in self.layers], "--baseline", self.folder / "former.json")
        self.assertEqual((code, answer["no_worse"]), (0, True))


if __name__ == "__main__":
    unittest.main()
