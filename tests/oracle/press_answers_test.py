# SPDX-License-Identifier: Apache-2.0
"""Eleven presses of kvpress beside the presets of kvlab that name them, on samples of kvlab's own tasks.

    python press_answers_test.py KVLAB        a seeded random checkpoint, contexts of 900 tokens
    python press_answers_test.py KVLAB real   SmolLM2 (real_model_test.py), contexts of 600 tokens

kvlab writes the samples and sweeps the presets over them. kvpress prunes the same context with its press; transformers is asked
the same question over what is left, and answers. A token comes at a time, because a mask of transformers has one length for all
layers, which those of pyramidkv have not. The rows that stay must be the same but for ties, and so must the answer of a session
whose cache grows after the prompt, as kvpress lets it. A sweep goes on to evict, so that its scores stand beside the others for people
to compare. Exit status 77, with one line that says why, where kvpress or a file is missing."""
import contextlib
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
TASKS = ["needle_single_1", "needle_multivalue", "variable_tracking"]
NEEDED = ["kvpress", "torch", "transformers", "tokenizers"]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def sweep(kvlab, folder, model, policies, length, samples):
    """Samples, and the answers of each policy in the order of the samples."""
    values = [{"label": policy["label"], "value": {key: policy[key] for key in policy if key != "label"}}
              for policy in policies]
    (folder / "spec.json").write_text(json.dumps({
        "name": "presses", "base": manifest_of(model, length),
        "axes": [{"name": "policy", "key": "policy", "values": values}],
        "prompts": [{"task": TASKS, "length": length, "samples": samples, "max_new_tokens": 24}], "measure": ["answers"]}))
    run(kvlab, "sweep", folder / "spec.json", "--out", folder / "out", "--jobs", 1)
    answers = {}
    for one in lines(folder / "out/answers.jsonl"):
        answers.setdefault(one["axes"]["policy"], []).append(one)
    return lines(folder / "out/questions.jsonl"), answers


def manifest_of(model, length):
    return {"model": str(model), "capacity": length + 64, "dtype": "f32", "kv": {"k": "f32", "v": "f32"}}


def run(kvlab, *words):
    done = subprocess.run([kvlab, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"kvlab {words[0]} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def ours(kvlab, cases):
    """For each case ranges of rows, [layers][KV heads], and the tokens of the answer."""
    from kvpress_rows import ranges
    with tempfile.TemporaryDirectory() as scratch:
        given = Path(scratch) / "cases.json"
        given.write_text(json.dumps(cases))
        said = run(kvlab, "run", HERE / "press_answers.js", "--", given)
    out = []
    for line in said.splitlines():
        if "ANSWER " in line:
            kept, tokens = json.loads(line.split("ANSWER ", 1)[1])
            layers = {}
            for layer, _, rows in kept:
                layers.setdefault(layer, []).append(ranges(rows))
            out.append(([layers[layer] for layer in sorted(layers)], tokens))
    return out


class Theirs:
    """A model over whose cache a press goes, and what it answers."""

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model, tokenizer
        ends = model.generation_config.eos_token_id
        self.ends = set(ends if isinstance(ends, list) else [ends])

    def attention(self, name):
        self.model.set_attn_implementation(name)
        return self.model

    def prompt(self, sample):
        return (self.tokenizer(sample["context"])["input_ids"],
                self.tokenizer(sample["question"] + "\n" + sample["answer_prefix"], add_special_tokens=False)["input_ids"])

    def answer(self, press, context, question, most):
        import torch
        import transformers
        cache, tokens, place = transformers.DynamicCache(), list(question), 0
        with torch.inference_mode():
            with press(self.model) if press else contextlib.nullcontext():
                self.model.model(input_ids=torch.tensor([context]), past_key_values=cache)
            while len(tokens) < len(question) + most:
                at = torch.tensor([[len(context) + place]])
                step = self.model(input_ids=torch.tensor([[tokens[place]]]), past_key_values=cache, position_ids=at)
                place += 1
                if place >= len(question):
                    tokens.append(int(step.logits[0, -1].argmax()))
        for layer in self.model.model.layers:
            layer.self_attn.masked_key_indices = None
        return self.text(tokens[len(question):])

    def text(self, tokens):
        cut = next((i for i, token in enumerate(tokens) if token in self.ends), len(tokens))
        return self.tokenizer.decode(tokens[:cut], skip_special_tokens=True)


def score(text, wanted):
    return sum(one.lower() in text.lower() for one in wanted) / len(wanted)


def label_of(press, ratio):
    return f"{press[0]} {ratio}"


def compare(kvlab, model, theirs, presses, ratios, length, samples):
    """Lines about differences. Prints a line for each press and ratio."""
    import kvpress_rows as rows
    policies = [{"label": "full", "name": "full"}]
    policies += [{"label": label_of(press, ratio), **rows.policy_of(*press[:2], ratio)} for press in presses for ratio in ratios]
    with tempfile.TemporaryDirectory() as scratch:
        questions, answers = sweep(kvlab, Path(scratch), model, policies, length, samples)
    prompts = [theirs.prompt(sample) for sample in questions]
    bad = []
    for at, (sample, (context, asked)) in enumerate(zip(questions, prompts)):
        said = theirs.text(answers["full"][at]["ids"])
        whole = theirs.answer(None, context, asked, sample["max_new_tokens"])
        if said != whole:
            bad.append(f"full, sample {at}: {said!r} against {whole!r}")
    for press in presses:
        for ratio in ratios:
            name = label_of(press, ratio)
            cases = [rows.case(str(model), theirs.attention, context, press, ratio) for context, _ in prompts]
            found = ours(kvlab, [{"manifest": {**manifest_of(model, length), "policy": one["policy"]}, "ids": one["ids"],
                                  "question": asked, "count": sample["max_new_tokens"]}
                                 for one, (_, asked), sample in zip(cases, prompts, questions)])
            lists = ties = equal = 0
            scores = []
            for at, (case, (kept, tokens), sample) in enumerate(zip(cases, found, questions, strict=True)):
                by_head = [heads * len(case["kept"][layer]) if len(heads) == 1 else heads for layer, heads in enumerate(kept)]
                wrong, tied, count = rows.differences(case, by_head)
                bad += wrong
                lists, ties = lists + count, ties + tied
                text, here = theirs.answer(press[2](1 - ratio), *prompts[at], sample["max_new_tokens"]), theirs.text(tokens)
                equal += text == here
                if text != here and not tied:
                    bad.append(f"{name}, sample {at}: {here!r} against {text!r}")
                scores.append((score(text, sample["answers"]), score(here, sample["answers"]), answers[name][at]["score"]))
            mean = [sum(column) / len(column) for column in zip(*scores)]
            print(f"{name}: {lists - ties} of {lists} lists of rows equal, {ties} up to ties; {equal} of {len(scores)} answers "
                  f"equal; scores {mean[0]:.2f} kvpress, {mean[1]:.2f} kvlab, {mean[2]:.2f} in a sweep", flush=True)
    return bad


def seeded(folder):
    import torch
    import transformers
    from kvpress_rows import REAL
    from seeded_checkpoint import checkpoint
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint(folder, "llama2"), dtype=torch.float32,
                                                              attn_implementation="sdpa")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    return folder, Theirs(model.eval(), tokenizer), REAL, (0.25, 0.5), 900, 1


def real(_folder):
    import transformers
    from kvpress_rows import REAL
    from real_model_test import files, load
    found = [path for name, path in files() if "smollm" in name.lower()]
    if not found:
        skip("no GGUF file of SmolLM2, see kvlab model get")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(found[0].parent), gguf_file=found[0].name)
    return found[0], Theirs(load(found[0]), tokenizer), REAL, (0.5,), 600, 1


def main():
    if len(sys.argv) < 2:
        skip("give the path of kvlab")
    of_files = sys.argv[2:] == ["real"]
    missing = [name for name in NEEDED + ["gguf"] * of_files if importlib.util.find_spec(name) is None]
    if missing:
        skip(f"needs {' and '.join(missing)} (pip install kvpress==0.5.5 transformers==5.2.0 torch gguf)")
    import transformers
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as scratch:
        bad = compare(sys.argv[1], *(real if of_files else seeded)(Path(scratch) / "model"))
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
