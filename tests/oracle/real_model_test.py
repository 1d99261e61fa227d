# SPDX-License-Identifier: Apache-2.0
"""Logits, keys and values of `kvlab run` on GGUF files that people have, against transformers on the same dequantised
weights.

    python real_model_test.py KVLAB

The files are $KVLAB_REAL_MODELS/NAME/*.gguf or, without that variable, $XDG_DATA_HOME/kvlab/models/NAME/*.gguf, of any
NAME. kvlab reads a prompt, then is given its last token in a tick of its own, then goes on greedily; it says how likely
it finds a text; and it saves the cache of a prompt, whose keys and values are those of a DynamicCache. Exit status 77,
with one line that says why, where there is no such file or a package is missing. Keys that transformers does not read
(rope_freqs of Llama 3) would make a difference: files with them are left out.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources/python"))

PROMPTS = ("The capital of France is Paris. The capital of Italy is", "def fibonacci(n):\n    if n < 2:\n        return",
           "Anna found a silver key under the stone in the garden. She put the key into her pocket and went home. " * 30 +
           "Later that evening Anna opened the old door with the")
GREEDY = (200, 8, 8)  # tokens behind each prompt
TEXT = Path(__file__).resolve().parents[2] / "core/semantics.md"  # English that is at hand, 2000 tokens of it
TOKENS = 2000
NLL_LIMIT = 2e-5  # relative
ROWS = 240  # rows of the text in the compared cache. No window of the models is as short
CACHE_LIMIT = 1e-5  # norm of the difference over norm, of the keys and of the values of each layer
LIMIT = 2e-5  # largest difference over largest magnitude: both compute in float32, in another order


def files():
    """Name and file; of a set its first file."""
    root = Path(os.environ.get("KVLAB_REAL_MODELS") or
                Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "kvlab/models")
    for folder in sorted(root.glob("*")):
        found = sorted(f for f in folder.glob("*.gguf") if not f.name.startswith("mmproj"))
        if found:
            yield folder.name, found[0]


def ours(kvlab, path, prompts):
    """For each prompt the logits of its last token and the ids that follow; and seconds and MB of opening."""
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "logits.js"
        script.write_text(f"""const prompts = {json.dumps(prompts)}, greedy = {json.dumps(GREEDY)};
prompts.forEach((ids, i) => {{
  const s = lab.open({{ model: {json.dumps(str(path))}, dtype: "f32", capacity: 2048 }});
  s.promptIds(ids.slice(0, -1));
  s.step({{ tokens: ids.slice(-1) }});
  const logits = s.logits();
  const next = s.step(greedy[i]).map((r) => r.token);
  log("LOGITS " + JSON.stringify([logits, next]));
}});
""")
        run = subprocess.run([kvlab, "run", str(script)], capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"kvlab run ended with {run.returncode}: {(run.stdout + run.stderr)[-2000:]}")
    return [json.loads(line.split("LOGITS ", 1)[1]) for line in run.stdout.splitlines() if "LOGITS " in line]


def opening(kvlab, path):
    """Seconds and MB of `kvlab info --model`, which opens the model and nothing else."""
    began = time.monotonic()
    run = subprocess.run([kvlab, "info", "--model", str(path)], capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"kvlab info ended with {run.returncode}: {run.stderr[-2000:]}")
    return time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def load(path):
    """transformers' own reading of the file, without the package `accelerate` that from_pretrained wants for it."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
    config = AutoConfig.from_pretrained(str(path.parent), gguf_file=path.name)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager")
    tensors = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=model)["tensors"]
    tensors = {name: torch.as_tensor(tensor).to(torch.float32) for name, tensor in tensors.items()}
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    if set(missing) - {"lm_head.weight"} or unexpected:
        raise SystemExit(f"transformers reads {path.name} in part: {missing} {unexpected}")
    model.tie_weights()
    return model.eval()


def theirs(model, prompts):
    import torch
    out = []
    with torch.inference_mode():
        for ids, count in zip(prompts, GREEDY):
            step = model(input_ids=torch.tensor([ids]), use_cache=True)
            first, follow = step.logits[0, -1], [int(step.logits[0, -1].argmax())]
            while len(follow) < count:
                step = model(input_ids=torch.tensor([follow[-1:]]), past_key_values=step.past_key_values, use_cache=True)
                follow.append(int(step.logits[0, -1].argmax()))
            out.append((first, follow))
    return out


def our_cache(kvlab, path, ids):
    """((key, value), ...) of every layer as kvlab saves them after the prompt."""
    from kvlab_cache import load_cache
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "cache.js"
        script.write_text(f"""const s = lab.open({{ model: {json.dumps(str(path))}, dtype: "f32", capacity: 512 }});
s.promptIds({json.dumps(ids)});
s.saveCache("cache.safetensors", {{ form: "hf_tuple" }});
""")
        run = subprocess.run([kvlab, "run", str(script), "--out", scratch], capture_output=True, text=True, check=False)
        if run.returncode:
            raise SystemExit(f"kvlab run ended with {run.returncode}: {(run.stdout + run.stderr)[-2000:]}")
        layers, saved, manifest = load_cache(Path(scratch) / "cache.safetensors")
    if saved[0].tolist() != ids or manifest["dtype"] != "float32":
        raise SystemExit(f"kvlab saved {manifest['dtype']} rows of {saved.shape[1]} tokens for {len(ids)}")
    return layers


def same_cache(kvlab, name, path, model, ids):
    """Keys and values of every layer, whole and row by row."""
    import torch
    from transformers import DynamicCache
    cache = DynamicCache()  # without a configuration, so that layers with a window keep all rows
    with torch.inference_mode():
        model(input_ids=torch.tensor([ids]), past_key_values=cache, use_cache=True)
    mine = our_cache(kvlab, path, ids)
    errors = []  # error of a tensor, error of its worst row, layer, tensor name
    for layer, (pair, wanted) in enumerate(zip(mine, cache.layers, strict=True)):
        for what, a, b in (("K", pair[0], wanted.keys), ("V", pair[1], wanted.values)):
            a, b = (t[0].transpose(0, 1).flatten(1).double() for t in (a, b))  # [rows, heads * dim]
            rows = (a - b).norm(dim=1) / b.norm(dim=1)
            errors.append((float((a - b).norm() / b.norm()), float(rows.max()), layer, what))
    for what in "KV":
        worst = max(e for e in errors if e[3] == what)
        row = max(e[1] for e in errors if e[3] == what)
        print(f"{name}: {what} of {len(mine)} layers and {len(ids)} tokens apart by {worst[0]:.1e} at most, in layer "
              f"{worst[2]} (limit {CACHE_LIMIT:g}); the worst row by {row:.1e}")
    return all(e[0] < CACHE_LIMIT for e in errors)


def losses(kvlab, path):
    """The ids of the text and the negative log-likelihood of each but the first, by `kvlab perplexity`."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "losses.json"
        subprocess.run([kvlab, "perplexity", "--model", str(path), "--text", str(TEXT), "--tokens", str(TOKENS),
                        "--dtype", "f32", "--json", str(out)], capture_output=True, text=True, check=True)
        found = json.loads(out.read_text())
    return found["ids"], found["losses"][1:]


def same_losses(kvlab, name, path, model):
    import torch
    ids, found = losses(kvlab, path)
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, :-1]
        wanted = torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:]), reduction="none")
    ours_mean, their_mean = sum(found) / len(found), float(wanted.double().mean())
    error = abs(ours_mean - their_mean) / their_mean
    print(f"{name}: NLL of {len(found)} tokens {ours_mean:.6f}, by transformers {their_mean:.6f}, apart by {error:.1e} "
          f"(limit {NLL_LIMIT:g}); of one token by {float((torch.tensor(found) - wanted).abs().max()):.1e} at most")
    return error < NLL_LIMIT


def compare(kvlab, name, path):
    """True if all agree."""
    import torch
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    prompts = [tokenizer.encode(text) for text in PROMPTS]
    model = load(path)
    good = same_cache(kvlab, name, path, model, tokenizer.encode(TEXT.read_text())[:ROWS])
    good = same_losses(kvlab, name, path, model) and good
    for ids, (logits, follow), (wanted, wantedFollow) in zip(prompts, ours(kvlab, path, prompts), theirs(model, prompts)):
        error = float((torch.tensor(logits) - wanted).abs().max() / wanted.abs().max())
        same = error < LIMIT and follow == wantedFollow
        print(f"{name}: {len(ids)} tokens, logits differ by {error:.1e} of the largest (limit {LIMIT:g}), "
              f"{len(follow)} greedy tokens {'agree' if follow == wantedFollow else f'{follow}, {wantedFollow} by transformers'}")
        good = good and same
    return good


def main():
    found = list(files())
    if not found:
        print("skipped: no GGUF file under KVLAB_REAL_MODELS or XDG_DATA_HOME/kvlab/models; "
              "fetch one with `kvlab model get smollm2-135m`")
        return 77
    for name, path in found:  # before the big imports, whose memory a child begins with
        seconds, memory = opening(sys.argv[1], path)
        print(f"{name}: opened in {seconds:.2f} s with {memory:.0f} MB, the file's pages that were read among them")
    try:
        from gguf import GGUFReader  # the folder gguf beside this file is importable too, and empty
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    found = [(name, path) for name, path in found
             if all(t.name != "rope_freqs.weight" for t in GGUFReader(path).tensors)]
    return 0 if all([compare(sys.argv[1], name, path) for name, path in found]) else 1


if __name__ == "__main__":
    sys.exit(main())
