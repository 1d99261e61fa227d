# SPDX-License-Identifier: Apache-2.0
"""`kvlab train` from end to end, in little. python train_test.py KVLAB

Gates and gists of a copy of the demo model are recorded, trained for some steps, and found by sessions of that model
without being named. A second run goes on where the first one ended and writes the same bytes."""
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESOURCES = HERE.parent.parent / "resources"
MISSING = [name for name in ("torch", "safetensors", "transformers") if importlib.util.find_spec(name) is None]
if MISSING:
    print(f"skipped: needs {' and '.join(MISSING)} (pip install -r {HERE.name}/requirements.txt)")
    sys.exit(77)
import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

if len(sys.argv) < 2:
    print("skipped: give the path of kvlab")
    sys.exit(77)
KVLAB = sys.argv.pop(1)
os.environ["OMP_NUM_THREADS"] = "1"  # threads that wait for each other make small steps slow beside other tests


class Train(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = Path(self.place.name)
        self.model = self.folder / "model"
        self.model.mkdir()
        for name in ("config.json", "model.safetensors", "tokenizer.model"):
            (self.model / name).write_bytes((RESOURCES / "demo" / name).read_bytes())

    def tearDown(self):
        self.place.cleanup()

    def run_one(self, *command, code=0):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=500, cwd=self.folder)
        self.assertEqual(done.returncode, code, f"{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def stories(self, what, *options):
        self.run_one(sys.executable, RESOURCES / what / "stories.py", "--out", "stories.json", *options)

    def train(self, what, *recipe, options=(), code=0):
        return self.run_one(KVLAB, "train", what, "--model", self.model, "--text", "stories.json", "--python", sys.executable,
                            *options, "--", *recipe, code=code)

    def script(self, text):
        (self.folder / "script.js").write_text(text)
        return self.run_one(KVLAB, "run", "script.js", "--", self.model)

    def trained(self, what, recipe, resumed):
        """The report; the file is where sessions look, and a resumed run makes the same tensors without training again."""
        said = self.train(what, *recipe)
        file, work = self.model / f"kvlab_{what}.safetensors", self.folder / f"model.{what}"
        self.assertIn(str(file), said)
        first, report = load_file(file), json.loads((work / "report.json").read_text())
        self.assertTrue((work / "report.txt").read_text() in said)
        self.assertIn("--resume", self.train(what, *recipe, code=2))
        file.unlink()
        again = self.train(what, *recipe, options=["--resume"])
        second = load_file(file)
        self.assertEqual(first.keys(), second.keys())
        self.assertTrue(all(torch.equal(first[name], second[name]) for name in first))
        self.assertNotIn(resumed, again)
        return report

    def test_gates(self):
        self.stories("gates", "--count", 12, "--longest", 600)
        report = self.trained("gates", ["--epochs", 4, "--hidden", 64, "--batch", 128], "kvlab: train gates: windows recorded")
        self.assertEqual(report["windows"], {"training": 11, "held_out": 1})
        self.assertEqual([row["layer"] for row in report["layers"]], [0, 1, 2, 3])
        self.assertGreater(report["r2"]["median"], 0.1)
        self.assertEqual(report["recall"]["oracle"], 1)
        self.assertGreater(report["recall"]["gates_alone"], report["recall"]["random"] + 0.05)
        self.assertIn("kept 24", self.script("""
            const s = lab.open({ model: args[0], policy: { name: "smartkv", sinks: 4, budget: 12, window: 8 } });
            s.prompt("the red box is in the kitchen . ".repeat(8));
            s.step(2);
            log("kept " + s.rows(0, 0, 24, { kvHead: 0 }).length);"""))

    def test_gists(self):
        self.stories("gists", "--count", 5)
        report = self.trained("gists", ["--steps", 6, "--steps2", 2], "level 1: step")
        self.assertEqual(report["windows"], {"training": 18, "held_out": 2})
        self.assertEqual([(row["told"], row["level"]) for row in report["evaluation"]][0], (128, 1))
        for row in report["evaluation"]:
            ways = row["ways"]
            self.assertEqual(ways["full"]["kl"], 0)
            self.assertLess(abs(ways["trained"]["nll"] - ways["mean"]["nll"]), 1)
        self.assertIn("gists 2", self.script("""
            const s = lab.open({ model: args[0], wlod: { budget: 300, gist: "trained", lens: "off" } });
            s.prompt("the red box is in the kitchen . ".repeat(24));
            s.collapse(0 * 4 + 1, { now: true });
            s.collapse(32 * 4 + 1, { now: true });
            log("gists " + s.tree({ entries: true }).entries.filter(entry => entry.level === 1).length);"""))

    def as_gguf(self, path):
        """The demo model in GGUF format."""
        import gguf
        import make_gguf as mg
        import sentencepiece
        config, words = json.loads((self.model / "config.json").read_text()), sentencepiece.SentencePieceProcessor()
        words.load(str(self.model / "tokenizer.model"))
        out = gguf.GGUFWriter(path, "llama")
        mg.add_sizes(out, config)
        mg.add_rope(out, "llama", config)
        out.add_tokenizer_model("llama")
        pieces = range(words.piece_size())
        out.add_token_list([words.id_to_piece(i) for i in pieces])
        out.add_token_scores([words.get_score(i) for i in pieces])
        kinds = ((words.is_unknown, "UNKNOWN"), (words.is_control, "CONTROL"), (words.is_byte, "BYTE"))
        out.add_token_types([next((gguf.TokenType[kind] for is_kind, kind in kinds if is_kind(i)), gguf.TokenType.NORMAL)
                             for i in pieces])
        for name, tensor in mg.tensors_of("llama", config, load_file(self.model / "model.safetensors")):
            mg.add_tensor(out, name, tensor)
        mg.write(out)

    def test_gists_of_a_gguf_file(self):
        """A file, and a folder with that file, make the gists that the Hugging Face directory of the same model makes."""
        try:
            from gguf import GGUFWriter  # noqa: F401
            import accelerate  # noqa: F401
        except ImportError as error:
            self.skipTest(str(error))
        self.stories("gists", "--count", 4)
        recipe = ["--steps", 2, "--steps2", 0, "--batch", 1]
        self.train("gists", *recipe)
        wanted = load_file(self.model / "kvlab_gists.safetensors")
        file = self.folder / "files" / "demo.gguf"
        file.parent.mkdir()
        self.as_gguf(file)
        for self.model in (file, file.parent):
            self.assertIn(str(file.parent / "kvlab_gists.safetensors"), self.train("gists", *recipe))
            got = load_file(file.parent / "kvlab_gists.safetensors")
            self.assertEqual(got.keys(), wanted.keys())
            for name, tensor in wanted.items():
                self.assertLess(float((got[name] - tensor).norm() / tensor.norm()), 1e-3, name)

    def test_lens(self):
        self.stories("gists", "--count", 5)
        report = self.trained("lens", ["--steps", 40, "--batch", 2], "lens: step")
        self.assertEqual(report["windows"], {"training": 18, "held_out": 2})
        lenses = report["evaluation"]["lenses"]
        self.assertEqual(lenses["mean, oracle"]["correlation"], 1)
        self.assertLess(lenses["mean, network"]["caught"], lenses["mean, oracle"]["caught"])
        # The engine predicts the same as the recipe's network for the same entries.
        said = self.script("""
            const s = lab.open({ model: args[0], dtype: "f32", probes: false,
                                 wlod: { budget: 300, lens: "trained", every: 1, expand_at: 1, collapse_at: 1 } });
            const ids = s.tokenise("the red box is in the kitchen . ".repeat(64));
            s.prefill(ids);
            s.step();
            const { lens, entries } = s.tree({ entries: true });
            log("told " + JSON.stringify({ lens, ids, entries: entries.slice(0, -1).map((one) => [one.level, one.start, one.mass]) }));""")
        told = json.loads(next(line[5:] for line in said.splitlines() if line.startswith("told ")))
        self.assertEqual(told["lens"], "trained")
        sys.path[:0] = [str(RESOURCES / "lens"), str(RESOURCES / "gists")]
        recipe = importlib.import_module("train")
        embeddings = load_file(self.model / "model.safetensors")["model.embed_tokens.weight"].float()[told["ids"]]
        nodes = [(level, start) for level, start, _ in told["entries"]]
        rows = recipe.nw.rows_of(recipe.nw.tree_of([None, None], embeddings[None]), [nodes])[0]
        net = load_file(self.model / "kvlab_lens.safetensors")
        wanted = torch.softmax(recipe.logits_of(net, rows, nodes, embeddings[-recipe.TAIL:], len(embeddings)), 0)
        got = torch.tensor([mass for _, _, mass in told["entries"]])
        self.assertLess(float((got - wanted).abs().max() / wanted.max()), 1e-4)

    def test_ctrl_c_costs_ten_steps(self):
        """A training that was stopped between two checkpoints ends with the tensors of one that was not."""
        self.stories("gists", "--count", 5)
        recipe = ["--steps", 24, "--steps2", 0, "--batch", 1]  # so many that the last one is seconds away when the stop is asked for
        self.train("gists", *recipe)
        file = self.model / "kvlab_gists.safetensors"
        whole = load_file(file)
        file.unlink()
        command = [KVLAB, "train", "gists", "--model", self.model, "--text", "stories.json", "--python", sys.executable, "--work", "cut"]
        with subprocess.Popen([str(part) for part in command + ["--"] + recipe], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              text=True, cwd=self.folder) as stopped:
            for line in stopped.stderr:
                if "step 11 of 24" in line:
                    stopped.send_signal(signal.SIGINT)
                    break
            said = stopped.stderr.read()
        self.assertEqual((stopped.returncode, file.exists()), (1, False))
        self.assertIn("kvlab: error: the training was stopped: on request; go on with --resume", said)
        rest = self.run_one(*command, "--resume", "--", *recipe)
        self.assertNotIn("step 10 of 24", rest)
        self.assertTrue(all(torch.equal(w, whole[name]) for name, w in load_file(file).items()))

    def test_recipes_name_what_is_wrong(self):
        self.stories("gates", "--count", 2)
        said = self.train("gates", "--epochs", "many", code=1)
        self.assertIn("--epochs", said)
        self.assertIn("kvlab: error: nothing was trained: the recipe ended with exit code 2", said)


if __name__ == "__main__":
    unittest.main()
