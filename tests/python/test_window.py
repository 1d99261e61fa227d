# SPDX-License-Identifier: Apache-2.0
"""The window on a session of Python: pictures without a display, and the window as a process of its own. KVLAB names the
program; without it the tests that need it are skipped."""
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import kvlab

STORY = "Anna has a red ball . Tom has a lamp . Where is the"
PROGRAM = os.environ.get("KVLAB")
FAKE = """#!{python}
import json, os, shutil, sys
shutil.copy(sys.argv[2], "{kept}")
open("{said}", "w").write(json.dumps(sys.argv[1:]))
{more}
"""


def session():
    s = kvlab.open("demo", policy="h2o:budget=24")
    s.prompt(STORY)
    s.step(6)
    return s


def fake(folder, more=""):
    """A program that keeps the capture it gets."""
    path = pathlib.Path(folder) / "kvlab"
    path.write_text(FAKE.format(python=sys.executable, kept=f"{folder}/kept.kvcap", said=f"{folder}/said.json", more=more))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@unittest.skipUnless(PROGRAM, "KVLAB names no program")
class Pictures(unittest.TestCase):
    def setUp(self):
        self.s = session()
        self.addCleanup(self.s.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_view_in_three_forms(self):
        before = self.s.state_hash
        picture = self.s.view("map", self.folder / "map.pdf", size=(800, 500), options={"quantity": "age"})
        self.assertEqual(self.s.state_hash, before)
        self.assertTrue(picture.png.startswith(b"\x89PNG"))
        self.assertEqual(picture._repr_png_(), (picture.png, {"width": 800, "height": 500}))
        words = re.findall(r"<text[^>]*>([^<]*)</text>", picture._repr_svg_())
        self.assertIn("Annahasaredball.", "".join(words).replace("·", ""))
        self.assertIn("layer", words)
        self.assertTrue(picture.pdf.startswith(b"%PDF") and b"/FontFile" in picture.pdf)
        self.assertEqual((self.folder / "map.pdf").read_bytes(), picture.pdf)
        picture.save(self.folder / "map.SVG")
        self.assertEqual((self.folder / "map.SVG").read_bytes(), picture.svg)
        dark = self.s.view("map", size=(800, 500), theme="dark", options={"quantity": "age"})
        self.assertNotEqual(dark.png, picture.png)

    def test_the_window_has_the_state(self):
        """The program's answer from the capture is the hash here: of a session, another tick, a lane, a sequence."""
        script = self.folder / "hash.js"
        script.write_text('log(lab.openCapture(args[0]).table({name: "state", columns: ["stateHash"]}).columns.stateHash[0])')

        def there(one):
            path = self.folder / "one.kvcap"
            one.save_capture(path)
            said = subprocess.run([PROGRAM, "run", script, "--", path], capture_output=True, text=True, check=True)
            return said.stdout.strip()

        with self.s.lanes([{"policy": "h2o:sinks=1,window=4,budget=8"}]) as lanes, self.s.batch(2) as batch:
            lanes.step(2)
            batch.prompts([" ball", None])
            for one in (self.s, self.s.at(3), lanes[1], batch[0]):
                self.assertEqual(there(one), one.state_hash)
            self.assertNotEqual(lanes[1].view("map", size=(400, 300)).png, lanes[0].view("map", size=(400, 300)).png)
            for group in (lanes, batch):
                for call in (group.view, group.show):
                    with self.assertRaises(kvlab.Error) as caught:
                        call()
                    self.assertEqual(caught.exception.code, "in_lockstep")
                    self.assertIn("[0]", caught.exception.remedy)

    def test_refusals_are_those_of_the_program(self):
        for call, code, word in (
            (lambda: self.s.view("nothing"), "unknown_view", "map"),
            (lambda: self.s.view("map", options={"quantity": "taste"}), "bad_argument", "brightness"),
            (lambda: self.s.view("map", focus={"layer": 99}), "bad_argument", "layer"),
            (lambda: self.s.view("map", theme="green"), "bad_argument", "light"),
            (lambda: self.s.view("map", size=(3, 3)), "bad_argument", "width"),
            (lambda: self.s.view("map", self.folder / "map.jpeg"), "bad_argument", ".svg"),
            (lambda: self.s.view("map", self.folder / "no" / "map.svg"), "io", "folder"),
        ):
            with self.assertRaises(kvlab.Error) as caught:
                call()
            self.assertEqual(caught.exception.code, code, str(caught.exception))
            self.assertIn(word, str(caught.exception))


class Programs(unittest.TestCase):
    def setUp(self):
        self.s = session()
        self.addCleanup(self.s.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def refused(self, call, **environment):
        with mock.patch.dict(os.environ, {"QT_QPA_PLATFORM": "", **environment}), self.assertRaises(kvlab.Error) as caught:
            call()
        self.assertEqual(caught.exception.code, "unsupported")
        return str(caught.exception)

    def test_a_missing_program_is_named(self):
        self.assertIn("/nowhere/kvlab", self.refused(self.s.view, KVLAB="/nowhere/kvlab"))
        pathlib.Path(fake(self.folder)).rename(pathlib.Path(self.folder) / "kvlab")
        with mock.patch.dict(sys.modules, {"kvlab_gui": None}):  # a script on PATH is the package's own command
            self.assertIn("kvlab[gui]", self.refused(self.s.view, KVLAB="", PATH=self.folder))

    def test_a_program_that_fails_says_why(self):
        program = fake(self.folder, 'sys.exit("kvlab: error: out of ideas")')
        self.assertIn("out of ideas", self.refused(self.s.view, KVLAB=program))
        self.assertIn("out of ideas", self.refused(self.s.show, KVLAB=program, DISPLAY=":7"))
        program = fake(self.folder, "os.kill(os.getpid(), 11)")
        self.assertIn("signal 11", self.refused(self.s.view, KVLAB=program))

    def test_the_window_gets_the_state(self):
        program = fake(self.folder)
        with mock.patch.dict(os.environ, KVLAB=program, DISPLAY=":7", QT_QPA_PLATFORM=""):
            self.assertEqual(self.s.show().wait(20), 0)
        said = json.loads((pathlib.Path(self.folder) / "said.json").read_text())
        self.assertEqual(said[0], "replay")
        with kvlab.open_capture(f"{self.folder}/kept.kvcap") as again:
            self.assertEqual(again.state_hash, self.s.state_hash)
        self.assertIn("display", self.refused(self.s.show, KVLAB=program, DISPLAY="", WAYLAND_DISPLAY=""))
        self.assertIn("offscreen", self.refused(self.s.show, KVLAB=program, DISPLAY=":7", QT_QPA_PLATFORM="offscreen"))


if __name__ == "__main__":
    unittest.main()
