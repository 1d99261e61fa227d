# SPDX-License-Identifier: Apache-2.0
"""kvlab.hf against live caches of transformers: rows while a model generates, and mistakes of a loop, found to layer
and row.

    python hf_watch_test.py         fixtures
    python hf_watch_test.py real    SmolLM2 and Gemma 3 270M (real_model_test.py): 200 tokens behind 400, and the price

The built package must be on the path. Exit status 77 where a package or a file is missing."""
import pathlib
import sys
import time
import unittest
from unittest import mock

try:
    import torch
    import transformers

    import kvlab
    from kvlab import hf
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

transformers.utils.logging.disable_progress_bar()
MODELS = pathlib.Path(__file__).resolve().parent / "models"
PROMPT = [1, 5, 9, 12, 33, 7, 8, 22, 14, 3, 17, 41]


def model_of(name):
    dtype = next(kind for end, kind in (("f32", torch.float32), ("bf16", torch.bfloat16), ("f16", torch.float16))
                 if name.endswith(end))
    return transformers.AutoModelForCausalLM.from_pretrained(MODELS / name, dtype=dtype).eval()


def steps(model, cache, tokens, position_ids=None):
    """One forward pass; the next token."""
    more = {} if position_ids is None else {"position_ids": torch.tensor([position_ids])}
    with torch.no_grad():
        out = model(input_ids=torch.tensor([tokens]), past_key_values=cache, use_cache=True, **more)
    return int(out.logits[0, -1].argmax())


class Watching(unittest.TestCase):
    def test_rows_of_a_model_that_generates_are_exact(self):
        for name in ("llama_tied_f32", "llama_llama3_bf16", "qwen3_f32", "qwen3_bf16", "gemma2_f32", "gemma3_f16",
                     "mistral_window_f32", "olmo2_bf16", "phi3_f32", "smollm3_f32"):
            with self.subTest(name), hf.watch(model := model_of(name)) as watch:
                model.generate(torch.tensor([PROMPT]), max_new_tokens=30, min_new_tokens=30, do_sample=False)
                self.assertEqual(watch.forwards(), 30)
                self.assertEqual(watch.changes(), [])
                self.assertEqual([str(one) for one in watch.check()], [])

    def setUp(self):
        self.model = model_of("llama_tied_f32")
        self.watch = hf.watch(self.model)
        self.addCleanup(self.watch.close)
        self.cache = transformers.DynamicCache()
        token = steps(self.model, self.cache, PROMPT)
        for _ in range(4):
            token = steps(self.model, self.cache, [token])
        self.next = token

    def wrong(self):
        return [(one.layer, one.row) for one in self.watch.check()]

    def test_a_value_written_in_place(self):
        self.assertEqual(self.wrong(), [])
        self.cache.layers[1].values[0, 1, 6] *= 1.5
        self.assertEqual(self.wrong(), [(1, 6)])
        found = self.watch.check()[0]
        self.assertEqual((found.since.kind, found.since.forward, found.since.rows), ("changed", 5, (6,)))
        self.assertIn("since changed before forward 5", str(found))

    def test_rows_that_a_press_takes_out(self):
        """As eviction does: the rows that are left are right, and each is known by its token."""
        keep = torch.tensor([0, 1, 2, 5, 6, 9, 10, 11, 12, 13, 14, 15])
        for layer in self.cache.layers:
            layer.keys, layer.values = layer.keys[:, :, keep], layer.values[:, :, keep]
        self.assertEqual(self.wrong(), [])
        self.assertEqual(self.watch.rows(0), keep.tolist())
        self.assertEqual({one.kind for one in self.watch.changes()}, {"removed"})
        self.assertEqual(self.watch.changes()[0].rows, (3, 4, 7, 8))

    def test_positions_by_the_length_of_a_pruned_cache(self):
        """The commonest mistake behind an eviction: the next token goes to the number of rows. What is computed behind
        an eviction is not exact in any case, but layer 0 has seen nothing of it: its keys tell the position."""
        keep = torch.tensor([0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15])
        for layer in self.cache.layers:
            layer.keys, layer.values = layer.keys[:, :, keep], layer.values[:, :, keep]
        steps(self.model, self.cache, [self.next], position_ids=[12])
        found = [one for one in self.watch.check() if one.layer == 0]
        self.assertEqual([(one.row, one.token, one.since) for one in found], [(12, 16, 5)])
        self.assertGreater(found[0].key, 0.01)
        self.assertLess(found[0].value, 1e-4)

    def test_the_right_position_behind_a_pruned_cache(self):
        keep = torch.tensor([0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15])
        for layer in self.cache.layers:
            layer.keys, layer.values = layer.keys[:, :, keep], layer.values[:, :, keep]
        steps(self.model, self.cache, [self.next], position_ids=[16])
        self.assertEqual([one for one in self.watch.check() if one.layer == 0], [])

    def test_rows_in_another_order(self):
        order = torch.tensor([0, 1, 2, 4, 3] + list(range(5, 16)))
        layer = self.cache.layers[1]
        layer.keys = layer.keys[:, :, order]
        found = self.watch.check()
        self.assertEqual({(one.layer, one.row) for one in found}, {(1, 3), (1, 4)})

    def test_heads_that_change_places_in_a_row(self):
        layer = self.cache.layers[1]
        layer.keys[0, :, 6] = layer.keys[0, :, 6].flip(0)
        found = self.watch.check()
        self.assertEqual([(one.layer, one.row) for one in found], [(1, 6)])
        self.assertEqual((found[0].since.kind, found[0].since.rows), ("changed", (6,)))

    def test_keys_in_the_place_of_values(self):
        layer = self.cache.layers[0]
        layer.keys, layer.values = layer.values, layer.keys
        found = self.watch.check()
        self.assertEqual({one.layer for one in found}, {0})
        self.assertEqual(len(found), 16)
        self.assertEqual(found[0].since.kind, "replaced")

    def test_a_cropped_end_and_another_continuation(self):
        self.cache.crop(-3)
        self.assertEqual(self.wrong(), [])
        for token in (21, 34, 6):
            steps(self.model, self.cache, [token])
        self.assertEqual(self.wrong(), [])
        self.assertEqual(self.watch.tokens()[-3:], [21, 34, 6])

    def test_a_prefix_of_another_text(self):
        """A cache that was reused for a text with another token in it."""
        other = transformers.DynamicCache()
        steps(self.model, other, PROMPT[:4] + [50] + PROMPT[5:])
        for layer, strange in zip(self.cache.layers, other.layers):
            layer.keys = torch.cat([strange.keys, layer.keys[:, :, 12:]], dim=2)
            layer.values = torch.cat([strange.values, layer.values[:, :, 12:]], dim=2)
        self.assertEqual(self.watch.check(), [])  # of the other text
        found = self.watch.check(cache=self.cache)
        self.assertEqual((found[0].layer, found[0].token), (0, 4))
        self.assertEqual(found[0].since.kind, "changed")

    def test_what_cannot_be_followed_says_so(self):
        with hf.watch(self.model) as watch:
            self.model.generate(torch.tensor([PROMPT, PROMPT]), max_new_tokens=2, do_sample=False)
            with self.assertRaisesRegex(ValueError, "2 sequences"):
                watch.check()

    def test_passes_without_a_cache_are_let_alone(self):
        with torch.no_grad():
            self.model(torch.tensor([PROMPT]), use_cache=False)
            self.model(input_ids=torch.tensor([PROMPT]))  # makes a cache of its own
        self.assertEqual(self.watch.tokens(), PROMPT)
        self.assertEqual(self.watch.check(), [])
        self.assertEqual(self.watch.check(cache=self.cache), [])

    def test_the_rows_in_a_session(self):
        with self.watch.session() as session:
            self.assertEqual(session.tokens, self.watch.tokens())
            k, _ = session.rows_array(1, rotated=True)
            theirs = self.cache.layers[1].keys[0].transpose(0, 1)
            torch.testing.assert_close(torch.from_numpy(k), theirs, rtol=1e-5, atol=1e-5)
            cache, ids, _ = hf.take(session)
            self.assertEqual(ids[0].tolist(), self.watch.tokens())
            torch.testing.assert_close(cache.layers[0].values, self.cache.layers[0].values)

    def test_the_price(self):
        """Of the test's smallest model; a real one computes a hundred times as long."""
        def taken(watched):
            with hf.watch(self.model) if watched else open("/dev/null"):
                begin = time.perf_counter()
                self.model.generate(torch.tensor([PROMPT]), max_new_tokens=40, min_new_tokens=40, do_sample=False)
                return (time.perf_counter() - begin) / 40

        self.watch.close()
        taken(False)
        plain, watched = min(taken(False) for _ in range(3)), min(taken(True) for _ in range(3))
        print(f"a token takes {plain * 1e3:.2f} ms, watched {watched * 1e3:.2f} ms")
        self.assertLess(watched - plain, 3e-3)


class Real(unittest.TestCase):
    def test_two_hundred_tokens(self):
        from real_model_test import TEXT, files, load
        found = [one for one in files() if "smollm" in one[0].lower() or "gemma" in one[0].lower()]
        if not found:
            print("skipped: no GGUF file of SmolLM2 or Gemma 3, see kvlab model get")
            sys.exit(77)
        torch.set_num_threads(1)
        for name, path in found:
            with kvlab.open(str(path), capacity=8) as session:
                ids = [int(one) for one in session.tokenise(TEXT.read_text()[:6000])][:400]
            model = load(path)
            model.set_attn_implementation("sdpa")
            model.generation_config.eos_token_id = None
            with self.subTest(name), hf.watch(model) as watch:
                cache = self.generate(model, ids)[0]
                wrong = watch.check(folder=path)
                self.assertEqual([str(one) for one in wrong], [])
                worst = max(max(one.key, one.value) for one in watch.check(folder=path, limit=0))
                lengths = sorted({layer.keys.shape[2] for layer in cache.layers})
                self.assertEqual((watch.forwards(), len(watch.tokens()), watch.changes()), (200, 599, []))
                print(f"{name}, transformers {transformers.__version__}: 200 tokens behind {len(ids)}, layers of "
                      f"{lengths} rows, the worst row differs by {worst:.1e} (bound {hf.UNITS[torch.float32]:.1e})")
            with self.subTest(f"price of {name}"):
                self.price(name, model, ids)

    def generate(self, model, ids):
        """The cache, and seconds of the processor; others may use it too."""
        begin = time.process_time()
        out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                             max_new_tokens=200, do_sample=False, pad_token_id=0, return_dict_in_generate=True)
        return out.past_key_values, time.process_time() - begin

    def price(self, name, model, ids):
        """The share of the hooks; a whole run beside another shows as much as the machine is busy with other work."""
        spent, plain, watched = [], [], []

        def timed(call):
            def hook(*args, **kwargs):
                begin = time.process_time()
                call(*args, **kwargs)
                spent.append(time.process_time() - begin)
            return hook

        for _ in range(2):
            plain.append(self.generate(model, ids)[1])
            with mock.patch.multiple(hf.Watch, _before=timed(hf.Watch._before), _after=timed(hf.Watch._after)):
                with hf.watch(model):
                    watched.append(self.generate(model, ids)[1])
        share = sum(spent) / sum(watched)
        print(f"{name}, transformers {transformers.__version__}: {min(plain):.2f} s of the processor, watched "
              f"{min(watched):.2f} s, {share:.2%} of it in the watch")
        self.assertLess(share, 0.05)


if __name__ == "__main__":
    if sys.argv[1:2] == ["real"]:
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(Real)
    else:
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(Watching)
    sys.exit(not unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful())
