# SPDX-License-Identifier: Apache-2.0
"""Scores and times of kvpress on the samples of a sweep, by its own pipeline: a column beside the sweep's summary.

    python press_table.py SWEEP MODEL.gguf [--keep 0.1,0.25,0.5] [--presses snapkv:kvpress,...] [--samples N]
           > presses.csv

SWEEP: a folder with questions.jsonl. Each press prunes the context of a sample to the given shares of its rows; the
pipeline asks the question and answers with the likeliest tokens. A line for each press, share, task and length: mean
score (share of the wanted texts in the answer), answers, seconds of an answer with its context. Without a press: full.
A press that the installed transformers cannot run is named on standard error.
--samples: the first so many of each task and length alone.
The tokens are those of the sweep: what the tokenizer makes of the context, and of question, line end and answer prefix."""
import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("sweep", type=Path)
    asked.add_argument("model", type=Path)
    asked.add_argument("--keep", default="0.1,0.25,0.5")
    asked.add_argument("--presses", default="")
    asked.add_argument("--samples", type=int, default=0)
    given = asked.parse_args()

    import torch
    import transformers
    from kvpress.pipeline import KVPressTextGenerationPipeline

    from kvpress_rows import REAL
    from press_answers_test import lines, score
    from real_model_test import load
    transformers.utils.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(given.model.parent), gguf_file=given.model.name)
    model = load(given.model)
    model.set_attn_implementation("sdpa")
    pipeline = KVPressTextGenerationPipeline(model=model, tokenizer=tokenizer)
    samples, seen = [], defaultdict(int)
    for sample in lines(given.sweep / "questions.jsonl"):
        seen[sample["prompts"]] += 1
        if not given.samples or seen[sample["prompts"]] <= given.samples:
            samples.append(sample)
    wanted = [name for name in given.presses.split(",") if name]
    runs = [("full", "", None)]
    for name, _, make in REAL:
        if not wanted or name in wanted:
            runs += [(name, keep, make) for keep in map(float, given.keep.split(","))]
    print("press,keep,task,length,answers,score,seconds")
    for name, keep, make in runs:
        scores, seconds = defaultdict(list), defaultdict(float)
        if name.startswith("h2o"):  # looks at weights, which sdpa does not give
            model.set_attn_implementation("eager")
        for sample in samples:
            context = tokenizer(sample["context"], return_tensors="pt")["input_ids"]
            question = tokenizer(sample["question"] + "\n" + sample["answer_prefix"], add_special_tokens=False,
                                 return_tensors="pt")["input_ids"]
            start = time.perf_counter()
            try:
                with torch.inference_mode():
                    answer = pipeline._forward({"context_ids": context, "questions_ids": [question]},
                                               max_new_tokens=sample["max_new_tokens"],
                                               press=make(1 - keep) if make else None)[0]
            except RuntimeError as refused:  # layers of unequal lengths: transformers makes one mask for all
                print(f"{name} does not run: {refused}", file=sys.stderr)
                scores.clear()
                break
            key = sample["task"], sample["prompts"].rsplit("-", 1)[-1]
            seconds[key] += time.perf_counter() - start
            scores[key].append(score(answer, sample["answers"]))
        model.set_attn_implementation("sdpa")
        for key, found in scores.items():
            print(",".join(map(str, (name, keep, *key, len(found), f"{sum(found) / len(found):.4f}",
                                     f"{seconds[key] / len(found):.3f}"))), flush=True)


if __name__ == "__main__":
    main()
