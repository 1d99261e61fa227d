# SPDX-License-Identifier: Apache-2.0
"""kvlab.compare on live caches of transformers: types, windows, caches of a fixed size, several sequences, mistakes.

The built package must be on the path. Exit status 77 where a package is missing."""
import pathlib
import sys
import unittest

try:
    import torch
    import transformers

    import kvlab
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

transformers.utils.logging.disable_progress_bar()
MODELS = pathlib.Path(__file__).resolve().parent / "models"
PROMPT = [1, 5, 9, 12, 33, 7, 8, 22, 14, 3, 17, 41, 2, 6, 30, 11, 19, 4, 27, 16, 13, 10, 25, 21]


def model_of(name):
    dtype = next(kind for end, kind in (("f32", torch.float32), ("bf16", torch.bfloat16), ("f16", torch.float16))
                 if name.endswith(end))
    return transformers.AutoModelForCausalLM.from_pretrained(MODELS / name, dtype=dtype).eval()


def filled(model, cache, ids=PROMPT):
    """The cache behind one pass over the ids."""
    with torch.no_grad():
        model(input_ids=torch.tensor([ids] if isinstance(ids[0], int) else ids), past_key_values=cache, use_cache=True)
    return cache


class LiveCaches(unittest.TestCase):
    def test_a_dynamic_cache_of_each_type_is_equal(self):
        for name in ("llama_tied_f32", "llama_llama3_bf16", "qwen3_f32", "gemma3_f16", "mistral_window_f32"):
            with self.subTest(name):
                model = model_of(name)
                found = kvlab.compare(filled(model, transformers.DynamicCache(config=model.config)), model, PROMPT)
                self.assertEqual((found.outcome, found.causes), ("equal", []), found.verdict)
                self.assertIn(found.to_dict()["types"]["keys"], name)

    def test_a_cache_of_fixed_size_is_equal(self):
        for name in ("llama_tied_f32", "gemma2_f32"):
            with self.subTest(name):
                model = model_of(name)
                cache = filled(model, transformers.StaticCache(config=model.config, max_cache_len=40))
                found = kvlab.compare(cache, model, torch.tensor([PROMPT]))
                self.assertEqual(found.outcome, "equal", found.verdict)

    def test_a_generated_text(self):
        model = model_of("gemma3_f16")
        out = model.generate(torch.tensor([PROMPT]), max_new_tokens=20, min_new_tokens=20, do_sample=False,
                             return_dict_in_generate=True)
        found = kvlab.compare(out.past_key_values, model, out.sequences[0, :-1])
        self.assertEqual(found.outcome, "equal", found.verdict)

    def test_one_of_several_sequences(self):
        model = model_of("llama_tied_f32")
        cache = filled(model, transformers.DynamicCache(), [PROMPT, PROMPT[::-1]])
        self.assertEqual(kvlab.compare(cache, model, PROMPT[::-1], sequence=1).outcome, "equal")
        with self.assertRaisesRegex(kvlab.Error, "2 sequences"):
            kvlab.compare(cache, model, PROMPT)

    def test_tensors_of_a_list(self):
        model = model_of("llama_llama3_bf16")
        cache = filled(model, transformers.DynamicCache())
        pairs = [(layer.keys[0].transpose(0, 1), layer.values[0].transpose(0, 1)) for layer in cache.layers]
        found = kvlab.compare(pairs, MODELS / "llama_llama3_bf16", PROMPT, axes="rows heads dim", dtype="bf16")
        self.assertEqual(found.outcome, "equal", found.verdict)

    def test_a_crop_that_was_forgotten_in_one_layer(self):
        """Rows of another text behind a place where two texts part."""
        model = model_of("llama_tied_f32")
        cache = filled(model, transformers.DynamicCache())
        other = filled(model, transformers.DynamicCache(), PROMPT[:12] + PROMPT[:11:-1])
        cache.layers[1].keys, cache.layers[1].values = other.layers[1].keys, other.layers[1].values
        found = kvlab.compare(cache, model, PROMPT)
        self.assertNotEqual(found.outcome, "equal")
        self.assertEqual((found.begins["layer"], found.begins["row"]), (1, 12))

    def test_refusals(self):
        model = model_of("llama_tied_f32")
        with self.assertRaisesRegex(kvlab.Error, "no rows"):
            kvlab.compare(transformers.DynamicCache(), model, PROMPT)
        layer = type("CodesLayer", (), {"_quantized_keys": None})()
        with self.assertRaisesRegex(kvlab.Error, "holds codes"):
            kvlab.compare(type("Codes", (), {"layers": [layer]})(), model, PROMPT)


if __name__ == "__main__":
    unittest.main()
