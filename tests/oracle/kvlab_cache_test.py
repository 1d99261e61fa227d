# SPDX-License-Identifier: Apache-2.0
"""resources/python/kvlab_cache.py against live caches and bad files. python kvlab_cache_test.py"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
MISSING = [name for name in ("torch", "safetensors") if importlib.util.find_spec(name) is None]
HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
if MISSING:
    print(f"skipped: needs {' and '.join(MISSING)} (pip install -r {HERE.name}/requirements.txt)")
    sys.exit(77)

sys.path[:0] = [str(HERE), str(HERE.parents[1] / "resources" / "python")]
import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
import kvlab_cache  # noqa: E402
from kvlab_cache import load_cache, next_position, save_cache, to_dynamic_cache, to_legacy  # noqa: E402

LAYERS, HEADS, ROWS, DIM = 3, 2, 7, 16
CONFIG = {"model_type": "llama", "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": HEADS,
          "hidden_size": 64, "rope_theta": 10000.0}
IDS = [1, 5, 9, 5, 90, 3, 0]


def random_layers(dtype=torch.float32, rows=ROWS, batch=1):
    generator = torch.Generator().manual_seed(7)
    return tuple(tuple(torch.randn(batch, HEADS, rows, DIM, generator=generator).to(dtype) for _ in range(2))
                 for _ in range(LAYERS))


class CacheTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "cache.safetensors"

    def assertLayersEqual(self, a, b):
        self.assertEqual(len(a), len(b))
        for (key_a, value_a), (key_b, value_b) in zip(a, b):
            self.assertEqual(key_a.dtype, key_b.dtype)
            self.assertTrue(torch.equal(key_a, key_b) and torch.equal(value_a, value_b))

    def assertRefused(self, pattern, call, *args, **kwargs):
        with self.assertRaisesRegex(ValueError, pattern):
            call(*args, **kwargs)


class RoundTrip(CacheTest):
    def test_legacy_tuple_in_every_type(self):
        for name, dtype in kvlab_cache.DTYPES.items():
            with self.subTest(name):
                layers = random_layers(dtype)
                save_cache(self.path, layers, IDS, CONFIG, form="hf_tuple")
                loaded, ids, manifest = load_cache(self.path)
                self.assertIsInstance(loaded, tuple)
                self.assertLayersEqual(layers, loaded)
                self.assertEqual(ids.tolist(), [IDS])
                self.assertEqual(manifest["dtype"], name)

    def test_the_file_is_what_the_format_says(self):
        save_cache(self.path, random_layers(), torch.tensor([IDS]), CONFIG, form="hf_tuple")
        tensors = load_file(self.path)
        self.assertEqual(set(tensors), {f"past_key_values.{n}.{p}" for n in range(LAYERS) for p in ("key", "value")})
        self.assertTrue(all(t.shape == (1, HEADS, ROWS, DIM) for t in tensors.values()))
        raw = self.path.read_bytes()
        header = json.loads(raw[8:8 + int.from_bytes(raw[:8], "little")])
        self.assertEqual(json.loads(header["__metadata__"]["kvlab"]), {
            "format": "kvlab-cache", "version": 1, "form": "hf_tuple",
            "model": {"model_type": "llama", "num_hidden_layers": LAYERS, "num_key_value_heads": HEADS,
                      "head_dim": DIM, "rope_theta": 10000.0},
            "input_ids": IDS, "position_ids": list(range(ROWS)), "dtype": "float32"})

    def test_positions_with_gaps(self):
        positions = [0, 1, 2, 5, 6, 9, 10]
        save_cache(self.path, random_layers(), IDS, CONFIG, form="hf_tuple", position_ids=positions)
        manifest = load_cache(self.path)[2]
        self.assertEqual(manifest["position_ids"], positions)
        self.assertEqual(next_position(manifest), 11)

    def test_cache_objects_of_older_transformers(self):
        layers = random_layers()
        old = types.SimpleNamespace(key_cache=[k for k, _ in layers], value_cache=[v for _, v in layers])
        save_cache(self.path, old, IDS, CONFIG, form="hf_tuple")
        self.assertLayersEqual(layers, load_cache(self.path)[0])

    def test_views_are_saved_by_value(self):
        wide = random_layers(rows=ROWS + 4)
        cut = tuple((k[:, :, 2:2 + ROWS], v[:, :, 2:2 + ROWS]) for k, v in wide)
        save_cache(self.path, cut, IDS, CONFIG, form="hf_tuple")
        self.assertLayersEqual(cut, load_cache(self.path)[0])

    def test_config_spellings(self):
        newer = {**CONFIG, "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}}
        del newer["rope_theta"]
        save_cache(self.path, random_layers(), IDS, types.SimpleNamespace(**newer), form="hf_tuple")
        self.assertEqual(load_cache(self.path)[2]["model"]["rope_theta"], 500000.0)
        repeated = {**CONFIG, "num_key_value_heads": None, "num_attention_heads": HEADS, "head_dim": DIM}
        save_cache(self.path, random_layers(), IDS, repeated, form="hf_tuple")
        self.assertEqual(load_cache(self.path)[2]["model"]["num_key_value_heads"], HEADS)


@unittest.skipUnless(HAS_TRANSFORMERS, "needs transformers")
class LiveCache(CacheTest):
    def test_dynamic_cache_round_trip(self):
        layers = random_layers(torch.bfloat16)
        cache = to_dynamic_cache(layers)
        save_cache(self.path, cache, IDS, CONFIG)
        loaded, _, manifest = load_cache(self.path)
        self.assertEqual(type(loaded).__name__, "DynamicCache")
        self.assertEqual(manifest["form"], "hf_dynamic")
        self.assertEqual(loaded.get_seq_length(), ROWS)
        self.assertLayersEqual(layers, to_legacy(loaded))

    def test_a_cache_that_was_never_run(self):
        from transformers import DynamicCache
        self.assertRefused("run the model once", save_cache, self.path, DynamicCache(), IDS, CONFIG)

    def run_script(self, *args):
        command = [sys.executable, HERE / "hf_roundtrip.py", *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_save_load_continue_is_continue(self):
        for name, form in (("llama_tied_f32", "hf_dynamic"), ("mistral_window_f32", "hf_tuple")):
            with self.subTest(name):
                model = HERE / "models" / name
                self.run_script("make", model, self.path, "--form", form)
                golden = load_file(model / "golden.safetensors")
                for layer, (key, value) in enumerate(to_legacy(load_cache(self.path)[0])):
                    torch.testing.assert_close(key[0], golden[f"k.{layer}"], rtol=1e-5, atol=1e-5)
                    torch.testing.assert_close(value[0], golden[f"v.{layer}"], rtol=1e-5, atol=1e-5)
                result = self.run_script("continue", model, self.path, 8)
                self.assertEqual(result["continued"], golden["greedy_ids"].tolist())
                self.assertEqual(result["fresh"], golden["greedy_ids"].tolist())
                self.assertLess(result["logits_difference"], 1e-5)

    def test_continue_really_reads_the_cache(self):
        model = HERE / "models" / "llama_tied_f32"
        self.run_script("make", model, self.path)
        cache, ids, _ = load_cache(self.path)
        noisy = tuple((key, torch.flip(value, dims=(2,))) for key, value in to_legacy(cache))
        from transformers import AutoConfig
        save_cache(self.path, noisy, ids, AutoConfig.from_pretrained(model))
        self.assertGreater(self.run_script("continue", model, self.path, 1)["logits_difference"], 0.05)

    def test_gaps_between_positions_survive(self):
        import hf_roundtrip
        from transformers import DynamicCache
        directory = HERE / "models" / "llama_llama3_bf16"
        model, cache = hf_roundtrip.load_model(directory, "float32"), DynamicCache()
        positions = [0, 1, 2, 9, 10, 30, 31]
        with torch.inference_mode():
            hf_roundtrip.forward(model, IDS, positions, cache)
        save_cache(self.path, cache, IDS, model.config, position_ids=positions)
        result = self.run_script("continue", directory, self.path, 4)
        self.assertEqual(result["position_ids"], positions)
        self.assertEqual(result["continued"], result["fresh"])
        self.assertLess(result["logits_difference"], 1e-5)
        save_cache(self.path, cache, IDS, model.config)  # positions forgotten: the last query is off
        self.assertGreater(self.run_script("continue", directory, self.path, 1)["logits_difference"], 0.01)

    def test_a_window_that_dropped_rows_is_refused(self):
        from transformers import AutoModelForCausalLM, DynamicCache
        directory = HERE / "models" / "mistral_window_f32"
        model = AutoModelForCausalLM.from_pretrained(directory, attn_implementation="eager")
        ids = load_file(directory / "golden.safetensors")["input_ids"][None]
        cache = DynamicCache(config=model.config)
        with torch.no_grad():
            model(input_ids=ids, past_key_values=cache, use_cache=True)
        self.assertRefused("sliding window", save_cache, self.path, cache, ids, model.config)


class BadCalls(CacheTest):
    def refuse(self, pattern, layers=None, ids=None, config=None, **kwargs):
        self.assertRefused(pattern, save_cache, self.path, layers or random_layers(), ids or IDS, config or CONFIG,
                           **{"form": "hf_tuple", **kwargs})
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_refusals(self):
        key, value = random_layers()[0]
        self.refuse("written by kvlab only", form="native")
        self.refuse("7 rows for 8 input_ids", ids=IDS + [4])
        self.refuse("2 sequences", layers=random_layers(batch=2))
        self.refuse("layer 1 value holds 6 rows", layers=((key, value), (key, value[:, :, 1:]), (key, value)))
        self.refuse("has 1 layers, the model 3", layers=((key, value),))
        self.refuse("layer 2 key has shape", layers=((key, value), (key, value), (key[..., :4], value)))
        self.refuse("torch.float16, expected float32", layers=((key, value), (key, value), (key, value.half())))
        self.refuse("torch.float64; convert", layers=random_layers(torch.float64))
        self.refuse("pass a DynamicCache or a tuple", layers={"a": 1})
        self.refuse("not one sequence", ids=[IDS, IDS])
        self.refuse("not one sequence", ids=[1, 5, 9, 5, 90, 3, -1])
        self.refuse("6 position_ids for 7", position_ids=[0, 1, 2, 3, 4, 5])
        self.refuse("strictly increase", position_ids=[0, 1, 2, 2, 4, 5, 6])
        self.refuse("model_type is missing", config={**CONFIG, "model_type": None})
        self.refuse("rope_theta is 0.0", config={**CONFIG, "rope_theta": 0.0})

    def test_a_failed_write_keeps_the_old_file(self):
        save_cache(self.path, random_layers(), IDS, CONFIG, form="hf_tuple")
        before = self.path.read_bytes()
        real = os.replace
        self.addCleanup(setattr, os, "replace", real)

        def fail(*_):
            raise OSError("no space left")
        os.replace = fail
        with self.assertRaises(OSError):
            save_cache(self.path, random_layers(rows=3), IDS[:3], CONFIG, form="hf_tuple")
        self.assertEqual(list(self.folder.iterdir()), [self.path])
        self.assertEqual(self.path.read_bytes(), before)


class BadFiles(CacheTest):
    def write(self, change=None, tensors=None, metadata=None):
        """A good file, with `change` applied to its manifest or its tensors replaced."""
        save_cache(self.path, random_layers(), IDS, CONFIG, form="hf_tuple")
        good = load_file(self.path)
        manifest = load_cache(self.path)[2]
        if change:
            change(manifest)
        save_file(good if tensors is None else tensors(good), self.path,
                  metadata={"kvlab": json.dumps(manifest)} if metadata is None else metadata)

    def refuse_manifest(self, pattern, change):
        with self.subTest(pattern):
            self.write(change)
            self.assertRefused(pattern, load_cache, self.path)

    def test_manifests(self):
        def put(field, value):
            return lambda m: m.update({field: value})
        self.refuse_manifest("format is not kvlab-cache", put("format", "other"))
        self.refuse_manifest("version 2 is not 1", put("version", 2))
        self.refuse_manifest("version True is not 1", put("version", True))
        self.refuse_manifest("native file.*with form hf_dynamic", put("form", "native"))
        self.refuse_manifest("form is None", put("form", None))
        self.refuse_manifest("dtype is 'int8'", put("dtype", "int8"))
        self.refuse_manifest("torch.float32, expected float16", put("dtype", "float16"))
        self.refuse_manifest("input_ids is not", put("input_ids", [1, "2"]))
        self.refuse_manifest("input_ids is not", put("input_ids", []))
        self.refuse_manifest("7 position_ids for 3", put("input_ids", [1, 2, 3]))
        self.refuse_manifest("strictly increase", put("position_ids", [6, 5, 4, 3, 2, 1, 0]))
        self.refuse_manifest("model.model_type", put("model", []))
        self.refuse_manifest("num_hidden_layers is 0", lambda m: m["model"].update(num_hidden_layers=0))
        self.refuse_manifest("need 2000000000", lambda m: m["model"].update(num_hidden_layers=1000000000))
        self.refuse_manifest("head_dim is 12.0", lambda m: m["model"].update(head_dim=12.0))
        self.refuse_manifest("expected .1, 2, 7, 24.", lambda m: m["model"].update(head_dim=24))
        self.refuse_manifest("rope_theta is inf", lambda m: m["model"].update(rope_theta=float("inf")))

    def test_metadata(self):
        self.write(metadata={"format": "pt"})
        self.assertRefused("no kvlab manifest", load_cache, self.path)
        self.write(metadata={"kvlab": "{"})
        self.assertRefused("not JSON", load_cache, self.path)
        self.write(metadata={"kvlab": "[1]"})
        self.assertRefused("format is not", load_cache, self.path)

    def test_tensors(self):
        def rename(good):
            good["past_key_values.1.keys"] = good.pop("past_key_values.1.key")
            return good

        def ragged(good):
            good["past_key_values.2.value"] = good["past_key_values.2.value"][:, :, :5].contiguous()
            return good
        self.write(tensors=rename)
        self.assertRefused("past_key_values.1.key is missing", load_cache, self.path)
        self.write(tensors=ragged)
        self.assertRefused("layer 2 value holds 5 rows for 7", load_cache, self.path)
        self.write(tensors=lambda good: {**good, "extra": torch.zeros(1)})
        self.assertRefused("7 tensors, the manifest's 3 layers need 6", load_cache, self.path)

    def test_bytes(self):
        self.write()
        whole = self.path.read_bytes()
        for cut in (0, 7, 8, 100, len(whole) - 1):
            self.path.write_bytes(whole[:cut])
            self.assertRefused("not a readable safetensors file", load_cache, self.path)
        self.path.write_bytes(b"\x80\x04\x95" + whole)  # looks like a pickle
        self.assertRefused("not a readable safetensors file", load_cache, self.path)


if __name__ == "__main__":
    unittest.main()
