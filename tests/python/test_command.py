# SPDX-License-Identifier: Apache-2.0
"""The command kvlab of the package: what it serves by itself, as the program does (KVLAB names it, where there is one),
its exit codes, and how it starts the program of kvlab-gui."""
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import kvlab
from kvlab._command import main

MAIN = [sys.executable, "-c", "import sys; from kvlab._command import main; sys.exit(main())"]


def run(words, command=MAIN, **environment):
    env = {**os.environ, **environment}
    return subprocess.run([*command, *words], env=env, capture_output=True, text=True, timeout=120)


class Alone(unittest.TestCase):
    def refused(self, code, says, *words, said="", **environment):
        done = run(words, **environment)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertRegex(done.stderr, r"\Akvlab: error: [^\n]*\n\Z")
        self.assertIn(says, done.stderr)
        self.assertIn(said, (done.stdout, None))

    def test_exit_codes(self):
        for words in ("list policies", "list layouts --markdown", "info", "info --json", "--help", "list --help",
                      "info --policy h2o:budget=64 --layout paged:block=8 --kv K=int8"):
            done = run(words.split())
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            self.assertTrue(done.stdout)
        self.assertEqual(run(["--version"]).stdout, f"kvlab {kvlab.__version__}\n")
        self.refused(2, "frobnicate", "info", "--set", "frobnicate=1")
        self.refused(2, "frobs", "list", "frobs")
        self.refused(2, "--frob", "info", "--frob")
        self.refused(2, "not allowed", "list", "verbs", "--json", "--markdown", said=None)
        self.refused(2, "sets no key", "info", "--set", "capacity")
        self.refused(2, "sets no key", "info", "--set", "kv=1", "--set", "kv.k=f16")
        self.refused(3, "/nowhere", "info", "--model", "/nowhere")
        self.refused(3, "/nowhere.json", "info", "--manifest", "/nowhere.json")
        self.refused(3, "/nowhere", "info", KVLAB_RESOURCES="/nowhere")

    def test_what_it_lacks_it_says(self):
        for words in ([], ["gui"], ["run", "x.js"], ["--model", "demo"], ["frobnicate"]):
            self.refused(2, 'pip install "kvlab[gui]"', *words)

    def test_output_that_is_not_written_is_no_success(self):
        for words in (["list", "policies"], ["info"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([*MAIN, *words], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 3)
            self.assertRegex(done.stderr, r"\Akvlab: error: the output was not written: [^\n]*\n\Z")

    def test_json_goes_to_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.json"
            done = run(["list", "layouts", "--json", str(path)])
            self.assertEqual((done.returncode, done.stdout), (0, run(["list", "layouts"]).stdout))
            self.assertEqual(json.loads(path.read_text()), kvlab.lists("layouts"))
            self.assertEqual(run(["info", "--json", str(path), "--model", "/nowhere"]).returncode, 3)
            self.assertEqual(json.loads(path.read_text())["error"]["code"], "bad_model")
            self.assertEqual([one.name for one in path.parent.iterdir()], ["x.json"])
        self.refused(3, "/nowhere/x.json was not written", "list", "layouts", "--json", "/nowhere/x.json", said=None)

    def test_options_make_the_manifest(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "m.json"
            path.write_text('{"capacity": 128, "kv": {"v": "f16"}}')
            words = ["info", "--manifest", str(path), "--kv", "K=int8", "--set", "capacity=64", "--json"]
            said = json.loads(run(words).stdout)
        rows = said["model"]["rows"][0]
        self.assertEqual((said["model"]["capacity"], rows["k"], rows["v"]), (64, "int8", "f16"))


@unittest.skipUnless(os.environ.get("KVLAB"), "KVLAB names no program")
class AsTheProgram(unittest.TestCase):
    def test_the_same_output_and_exit_codes(self):
        wanted = [f"list {name} {form}" for name in kvlab._core.lists() for form in ("", "--json", "--markdown")]
        wanted += ["info", "info --json", "info --set frobnicate=1", "info --model /nowhere", "info --policy frobs",
                   "info --policy h2o:budget=64 --kv K=int8,V=f16", "list frobs", "list frobs --json",
                   "info --model /nowhere --json", "info --set frobnicate=1 --json", "info --json /nowhere/x.json"]
        for words in map(str.split, wanted):
            here, there = (run(words, *program, KVLAB_CUDA_MODULE="/nowhere/kvlab_cuda.so")
                           for program in ((), ([os.environ["KVLAB"]],)))
            self.assertEqual(here.returncode, there.returncode, words)
            if words[-1] == "--json" and here.returncode == 2:  # each parser of the command line has words of its own
                codes = [json.loads(one.stdout)["error"]["code"] for one in (here, there)]
                self.assertEqual(codes, ["usage", "usage"], words)
            elif words[-1] == "--json":
                self.assertEqual(json.loads(here.stdout), json.loads(there.stdout), words)
                self.assertEqual(here.stderr, there.stderr, words)
            elif here.returncode == 0:
                self.assertEqual((here.stdout, here.stderr), (there.stdout, there.stderr), words)


class WithTheWindow(unittest.TestCase):
    """The package kvlab_gui over a program of the test's own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = pathlib.Path(folder.name) / "kvlab_gui"
        shutil.copytree(pathlib.Path(__file__).parents[2] / "app" / "wheel" / "kvlab_gui", self.package)
        self.program = self.package / "bin" / "kvlab"
        self.program.parent.mkdir()
        self.program.write_text('#!/bin/sh\necho "$KVLAB_PYTHON" "$@"; exit 7\n')
        self.program.chmod(0o755)
        self.path = os.pathsep.join([folder.name, os.environ.get("PYTHONPATH", "")])

    def test_the_program_serves_all(self):
        for words in ([], ["run", "x.js", "--", "a b"], ["list", "policies"], ["--version"]):
            done = run(words, PYTHONPATH=self.path)
            self.assertEqual((done.returncode, done.stdout), (7, " ".join([sys.executable, *words]) + "\n"))
        self.assertIn("usage: kvlab mcp", run(["mcp", "--help"], PYTHONPATH=self.path).stdout)  # the package's own

    def test_a_program_that_does_not_start_is_an_error(self):
        self.program.chmod(0o644)
        done = run(["gui"], PYTHONPATH=self.path)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"\Akvlab: error: the program was not started: [^\n]*\n\Z")

    def lacking(self, program, plugin, *words, **environment):
        """Standard error of the command where the program lacks one library and the plugin for X11 another."""
        platforms = self.package.parent / "PyQt6" / "Qt6" / "plugins" / "platforms"
        platforms.mkdir(parents=True, exist_ok=True)
        (platforms / "libqxcb.so").touch()
        lines = lambda names: "".join(f"\t{name} => not found\n" for name in names) + "\tlibm.so.6 => /lib/libm.so.6\n"
        answer = lambda *_, env, **__: mock.Mock(stdout=lines([*program, *(plugin if "LD_PRELOAD" in env else [])]))
        said = io.StringIO()
        with (mock.patch("subprocess.run", answer), mock.patch("os.execve", side_effect=OSError("started")),
              mock.patch("sys.path", [str(self.package.parent), *sys.path]), mock.patch("sys.argv", ["kvlab", *words]),
              mock.patch.dict(os.environ, environment), contextlib.redirect_stderr(said)):
            sys.modules.pop("kvlab_gui", None)
            self.assertEqual(main(), 3)
        return said.getvalue()

    def test_missing_libraries_are_named(self):
        said = self.lacking(["libEGL.so.1", "libGL.so.1"], [], "list", "verbs")
        self.assertIn("lacks libEGL.so.1, libGL.so.1; ", said)
        self.assertIn("started", self.lacking([], [], "list", "verbs"))

    def test_a_window_needs_more(self):
        outside = {"DISPLAY": ":1", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}
        without = lambda *words, **more: self.lacking([], ["libxcb-cursor.so.0"], *words, **{**outside, **more})
        for words in (["gui"], [], ["replay", "x.kvcap"]):
            self.assertIn("lacks libxcb-cursor.so.0; ", without(*words))
            self.assertIn("started", without(*words, QT_QPA_PLATFORM="offscreen"))
        self.assertIn("started", without("run", "x.js"))


if __name__ == "__main__":
    unittest.main()
