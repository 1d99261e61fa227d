# SPDX-License-Identifier: Apache-2.0
"""A cache made in transformers, edited in kvlab, continued in transformers. python kvlab_roundtrip_test.py KVLAB

For every fixture: hf_roundtrip.py make, kvlab run kvlab_roundtrip.js (load, replace, delete, insert, add, save,
continue), hf_roundtrip.py continue. Both programs must go on with the same ids; with after_edit recompute the edited
cache is also the cache that transformers itself computes for the edited text."""
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
MISSING = [name for name in ("torch", "safetensors", "transformers") if importlib.util.find_spec(name) is None]
if MISSING:
    print(f"skipped: needs {' and '.join(MISSING)} (pip install -r {HERE.name}/requirements.txt)")
    sys.exit(77)
if len(sys.argv) < 2:
    print("skipped: give the path of kvlab")
    sys.exit(77)
KVLAB = sys.argv.pop(1)
COUNT = 8
MODELS = sorted(p.parent for p in (HERE / "models").glob("*/config.json"))


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def hugging_face(*arguments):
    """In this process: importing torch takes seconds."""
    import hf_roundtrip
    return hf_roundtrip.answer(arguments)


def follows_length(model):
    """True if transformers turns each new key by frequencies of the length so far: keys in a cache stay as they are."""
    scaling = json.loads((model / "config.json").read_text()).get("rope_scaling") or {}
    return "dynamic" in (scaling.get("type"), scaling.get("rope_type"))


class RoundTrip(unittest.TestCase):
    def check(self, model, form, after_edit):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            made = hugging_face("make", model, folder / "prompt.safetensors", "--form", form)
            out = run(KVLAB, "run", HERE / "kvlab_roundtrip.js", "--out", folder, "--", model, form, after_edit, COUNT)
            here = json.loads(next(line.split("RESULT ", 1)[1] for line in out.splitlines() if "RESULT " in line))
            there = hugging_face("continue", model, folder / "edited.safetensors", COUNT)
            replay = run(KVLAB, "replay", folder / "session.kvcap", "--verify")
        self.assertEqual(len(here["loaded"]), made["rows"])
        self.assertEqual(there["input_ids"], here["edited"])
        self.assertEqual(there["position_ids"], list(range(made["rows"] + 1)))
        self.assertEqual(there["continued"], here["continued"])
        self.assertIn("same", replay)
        print(f"{model.name:26s} {form:10s} {after_edit:9s} logits differ from a fresh pass by "
              f"{there['logits_difference']:.1e}, KL here {here['kl']:.1e}")
        if after_edit == "recompute" and follows_length(model):  # a fresh pass turns every key for the whole length
            self.assertGreater(there["logits_difference"], 1e-4)
        elif after_edit == "recompute":
            self.assertLess(there["logits_difference"], 1e-4)
            self.assertEqual(there["fresh"], here["continued"])
        else:
            self.assertGreater(there["logits_difference"], 1e-6)

    def test_every_model(self):
        for model in MODELS:
            with self.subTest(model.name):
                self.check(model, "hf_dynamic", "recompute")

    def test_tuple_and_stale_rows(self):
        for name in ("llama_tied_f32", "llama_yarn_params_f16", "qwen3_f32"):
            with self.subTest(name):
                self.check(HERE / "models" / name, "hf_tuple", "keep")

    def test_layers_of_unequal_length(self):
        """Rows that kvlab evicted from single layers are gone in transformers, too: both go on with the same ids."""
        for name in ("llama_tied_f32", "qwen3_f32"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                model = HERE / "models" / name
                hugging_face("make", model, Path(folder) / "prompt.safetensors")
                out = run(KVLAB, "run", HERE / "kvlab_evicted.js", "--out", folder, "--", model, COUNT)
                here = json.loads(next(line.split("RESULT ", 1)[1] for line in out.splitlines() if "RESULT " in line))
                there = hugging_face("continue", model, Path(folder) / "evicted.safetensors", COUNT)
                self.assertEqual(there["rows"], here["rows"])
                self.assertGreater(len(set(there["rows"])), 1)
                self.assertEqual(there["continued"], here["continued"])
                self.assertNotEqual(here["continued"], here["whole"])


if __name__ == "__main__":
    unittest.main()
