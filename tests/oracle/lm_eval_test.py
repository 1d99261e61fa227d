# SPDX-License-Identifier: Apache-2.0
"""Generated answers of `kvlab sweep` and their scores, against greedy transformers and the scores of lm-eval's ruler tasks.

    python lm_eval_test.py KVLAB         seeded random checkpoints, every task
    python lm_eval_test.py KVLAB real    SmolLM2 (real_model_test.py), two tasks

kvlab writes samples and answers them with the whole cache. transformers reads the same texts, tokenised by its own
tokenizer, and goes on greedily; lm_eval/tasks/ruler/common_utils.py scores what it said. Prompts, ids, texts and scores
must be equal. Where two tokens are as likely as each other, but for rounding, ids may part. Random answers hold no
wanted text, so a second sweep asks for parts of the first one's answers. Exit status 77, with one line that says why,
where a package or a file is missing."""
import importlib.util
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
NEAR = 1e-4  # of two logits that rounding can put in either order
SAMPLES = 2


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


REAL = sys.argv[2:3] == ["real"]
NEEDED = ["torch", "safetensors", "transformers", "lm_eval"] + ["gguf"] * REAL
if MISSING := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
    skip(f"needs {' and '.join(MISSING)} (pip install -r {HERE.name}/requirements.txt, then --no-deps -r {HERE.name}/lm_eval.txt)")
if len(sys.argv) < 2:
    skip("give the path of kvlab")
KVLAB = sys.argv[1]

import torch  # noqa: E402
import transformers  # noqa: E402

from seeded_checkpoint import checkpoint  # noqa: E402

transformers.utils.logging.disable_progress_bar()


def module_of(path):
    """A module of lm-eval by itself: its package imports what a run of lm-eval needs."""
    package = Path(importlib.util.find_spec("lm_eval").origin).parent
    spec = importlib.util.spec_from_file_location(path.stem, package / path)
    out = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(out)
    return out


RULER = module_of(Path("tasks/ruler/common_utils.py"))


def sweep(folder, model, prompts):
    """Samples and answers of a sweep with the whole cache."""
    folder.mkdir()
    (folder / "spec.json").write_text(json.dumps({
        "name": "answers", "base": {"model": str(model), "dtype": "f32", "kv": {"k": "f32", "v": "f32"}, "capacity": 2048},
        "axes": [], "prompts": prompts, "measure": ["answers"]}))
    run = subprocess.run([KVLAB, "sweep", folder / "spec.json", "--out", folder / "out", "--jobs", "1"],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        raise AssertionError(f"kvlab sweep ended with {run.returncode}: {(run.stdout + run.stderr)[-2000:]}")
    return lines(folder / "out/questions.jsonl"), lines(folder / "out/answers.jsonl")


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


class Reader:
    """transformers, greedy, float32."""

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model, tokenizer
        ends = model.config.eos_token_id
        self.ends = set(ends if isinstance(ends, list) else [ends])

    def prompt(self, sample):
        """Context, then question, line end and answer prefix: as two texts, because a cache is pruned between them."""
        asked = sample["question"] + "\n" + sample["answer_prefix"]
        return (self.tokenizer(sample["context"])["input_ids"],
                self.tokenizer(asked, add_special_tokens=False)["input_ids"])

    def goes_on(self, ids, most, said):
        """Tokens behind ids; those of `said` where they are as likely as the likeliest."""
        out, step = [], None
        with torch.inference_mode():
            while len(out) < most:
                step = self.model(input_ids=torch.tensor([ids if step is None else out[-1:]]), use_cache=True,
                                  past_key_values=None if step is None else step.past_key_values)
                logits = step.logits[0, -1]
                token = int(logits.argmax())
                other = said[len(out)] if len(out) < len(said) else min(self.ends)
                if other != token and logits[token] - logits[other] <= NEAR * logits.abs().max():
                    token = other
                if token in self.ends:
                    break
                out.append(token)
        return out

    def text(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


class Answers(unittest.TestCase):
    def compare(self, reader, samples, answers):
        """Scores that lm-eval gives."""
        self.assertEqual(len(samples), len(answers))
        scores = []
        for sample, answer in zip(samples, answers):
            context, asked = reader.prompt(sample)
            if "length" in sample:
                self.assertEqual(len(context) + len(asked), sample["length"])
            for begin, end in sample.get("answers_at", []):
                held = reader.text(context[begin:end])
                self.assertTrue(any(one in held for one in sample["answers"]), (held, sample["answers"]))
            ids = reader.goes_on(context + asked, sample["max_new_tokens"], answer["ids"])
            self.assertEqual(answer["ids"], ids)
            self.assertEqual(answer["text"], reader.text(ids))
            self.assertEqual(answer["wanted"], sample["answers"])
            document = {"outputs": sample["answers"], "max_length": 4096}
            scores.append(RULER.process_results(document, [answer["text"]])["4096"])
            self.assertEqual(answer["score"], scores[-1])
            one_of = max(RULER.string_match_all(RULER.postprocess_pred([answer["text"]]), [[text]]) for text in sample["answers"])
            self.assertEqual(answer["part"], one_of)
        return scores

    def tasks(self, tokens):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            model = checkpoint(folder / "model", tokens)
            reader = Reader(transformers.AutoModelForCausalLM.from_pretrained(model, attn_implementation="eager").eval(),
                            transformers.PreTrainedTokenizerFast(tokenizer_file=str(model / "tokenizer.json")))
            samples, answers = sweep(folder / "written", model, [{"task": "all", "length": 1500, "samples": SAMPLES}])
            self.assertEqual(len({one["prompts"] for one in samples}), 11)
            self.compare(reader, samples, answers)
            wanted = [self.parts(sample, answer, seed) for seed, (sample, answer) in enumerate(zip(samples, answers))]
            (folder / "wanted.jsonl").write_text("".join(json.dumps(one) + "\n" for one in wanted))
            _, again = sweep(folder / "read", model, [{"name": "read", "file": str(folder / "wanted.jsonl")}])
            scores = self.compare(reader, wanted, again)
        self.assertEqual({0.0, 1.0} - set(scores), set())
        self.assertTrue(any(0 < score < 1 for score in scores))

    @staticmethod
    def parts(sample, answer, seed):
        """A sample as lm-eval's ruler tasks have it, which wants pieces of the answer in another case, and other texts."""
        draw = random.Random(seed)
        said = RULER.postprocess_pred([answer["text"]])[0]
        pieces = []
        for _ in range(draw.randint(1, 4)):
            begin = draw.randrange(max(1, len(said)))
            pieces.append(said[begin:begin + draw.randint(1, 5)].swapcase() if draw.random() < 0.6 else "no such text")
        return {**{key: sample[key] for key in ("context", "question", "answer_prefix", "max_new_tokens")},
                "answers": [one or "empty" for one in pieces]}

    def test_a_tokenizer_with_a_token_in_front(self):
        self.tasks("llama2")

    def test_a_byte_level_tokenizer(self):
        self.tasks("qwen2")


class Real(unittest.TestCase):
    compare = Answers.compare

    def test_smollm2(self):
        from real_model_test import files, load
        found = [path for name, path in files() if "smollm" in name.lower()]
        if not found:
            skip("no GGUF file of SmolLM2, see kvlab model get")
        reader = Reader(load(found[0]),
                        transformers.AutoTokenizer.from_pretrained(str(found[0].parent), gguf_file=found[0].name))
        with tempfile.TemporaryDirectory() as name:
            task = {"task": ["needle_single_2", "needle_multiquery"], "length": 320, "samples": 3}
            scores = self.compare(reader, *sweep(Path(name) / "real", found[0], [task]))
        print(f"scores of SmolLM2: {scores}")
        self.assertGreater(sum(scores), 0)


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Real if REAL else Answers)
    sys.exit(not unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful())
