# SPDX-License-Identifier: Apache-2.0
"""What the wheels are made of: one version, and the files that a build folder (BUILD) installs for them. wheels.py
makes the wheels themselves."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
SHARED = ["demo/model.safetensors", "demo/config.json", "models/models.json", "gates/demo.safetensors",
          "gists/demo.safetensors", "lens/demo.safetensors", "sweeps/smartkv.json", "prompts"]


def installed(component):
    """Files that the build folder has for a component, by their places."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["cmake", "--install", os.environ["BUILD"], "--component", component, "--prefix", folder]
        subprocess.run(words, check=True, capture_output=True)
        root = pathlib.Path(folder)
        return {path.relative_to(root).as_posix(): path.stat() for path in root.rglob("*")}


class Distribution(unittest.TestCase):
    def test_one_version(self):
        [version] = re.findall(r"project\(kvlab VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
        package, window = (ROOT / "pyproject.toml").read_text(), (ROOT / "app/wheel/pyproject.toml").read_text()
        for text in (package, window):
            self.assertIn(f'\nversion = "{version}"\n', text)
        self.assertIn(f'gui = ["kvlab-gui=={version}"]', package)
        self.assertIn(f'"kvlab=={version}"', window)

    @unittest.skipUnless(os.environ.get("BUILD"), "BUILD names no build folder")
    def test_files_of_the_package(self):
        files = installed("python")
        self.assertTrue([name for name in files if re.fullmatch(r"kvlab/_core\.[\w.-]+\.so", name)])
        for name in ["kvlab/_cache_files.py", *(f"kvlab/share/{one}" for one in SHARED)]:
            self.assertIn(name, files)
        self.assertFalse([name for name in files if not name.startswith("kvlab") or "__pycache__" in name])

    @unittest.skipUnless(os.environ.get("KVLAB"), "the build folder has no program")
    def test_files_of_the_window(self):
        files = installed("program")
        self.assertTrue(files["bin/kvlab"].st_mode & 0o111)
        for name in (*SHARED, "scripts/tour.js", "script_api.d.ts", "manual/index.md", "bench/tick.js", "tests",
                     "clinic", "gates/train.py", "python/kvlab_cache.py", "selftest/demo.txt"):
            self.assertIn(f"share/kvlab/{name}", files)
        self.assertFalse([name for name in files if not re.match("bin|share(/kvlab|/doc|$)", name)])
        self.assertFalse([name for name in files if "__pycache__" in name])


if __name__ == "__main__":
    unittest.main()
