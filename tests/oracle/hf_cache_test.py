# SPDX-License-Identifier: Apache-2.0
"""kvlab.hf.cache: transformers generates over the rows that a session's policy keeps.

    python hf_cache_test.py         fixtures and the demo model
    python hf_cache_test.py real    SmolLM2 (real_model_test.py), 200 tokens of a text and 40 behind them

The package must be on the path. Tokens and kept rows are those of a session of that policy alone, keys and values its
rows; logits are those of one pass over the whole text whose mask hides what was dropped. Exit status 77 where a package
or a file is missing."""
import contextlib
import gc
import pathlib
import sys
import tempfile
import time
import unittest
import weakref

try:
    import torch
    import transformers
    from safetensors.torch import save_file

    import kvlab
    from kvlab import hf
    from kvlab._hf_model import UNITS, apart, attentions_of
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

transformers.utils.logging.disable_progress_bar()
HERE = pathlib.Path(__file__).resolve().parent
PROMPT = [(i * 37 + 11) % 90 + 3 for i in range(40)]
POLICIES = ("streaming_llm:sinks=2,window=8", "h2o:ratio=0.3", "tova:ratio=0.3", "snapkv:ratio=0.3,window=4",
            "knorm:ratio=0.3", "keydiff:ratio=0.3", "expected_attention:ratio=0.3",
            "pyramidkv:ratio=0.5,window=4,beta=2", "adakv:ratio=0.3,window=4")
F32 = {"dtype": "f32", "kv": {"k": "f32", "v": "f32"}}


def model_of(name, attention="sdpa", dtype=torch.float32):
    folder = HERE.parents[1] / "resources/demo" if name == "demo" else HERE / "models" / name
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation=attention).eval()
    model.generation_config.eos_token_id = None  # the length of a text is the test's
    return model


def generate(model, cache, ids, count):
    out = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                         past_key_values=cache, max_new_tokens=count, do_sample=False, pad_token_id=0)
    return out[0, len(ids):].tolist()


def alone(folder, policy, ids, count, **manifest):
    """A session of that policy that generates by itself, behind its last pass; and its tokens."""
    session = kvlab.open(str(folder), policy=policy, **{**F32, **manifest})
    session.prompt_ids(ids)
    tokens = [one["token"] for one in session.step(count)]
    session.undo(1)
    return session, tokens


def heads_of(model):
    return range(model.config.get_text_config().num_key_value_heads)


def rows_of(session, layer, head):
    by_head = "kvHead" in session.policies()["layers"][0]
    return session.rows(layer, kv_head=head if by_head else None)["position"]


@contextlib.contextmanager
def gates(model):
    """A file of random gates for a model."""
    config, seed = model.config.get_text_config(), torch.Generator().manual_seed(7)
    heads, dim = config.num_key_value_heads, attentions_of(model)[0].head_dim
    drawn = lambda *shape: torch.randn(shape, generator=seed) * (2 / shape[-1]) ** 0.5
    tensors = {}
    for layer in range(config.num_hidden_layers):
        for number, (out, into) in enumerate(((256, dim), (256, 256), (256, 256), (1, 256)), 1):
            tensors[f"layers.{layer}.w{number}"] = drawn(heads, out, into)
            tensors[f"layers.{layer}.b{number}"] = drawn(heads, out)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "gates.safetensors"
        save_file(tensors, path, {"kvlab": "gates", "threshold": "0.05", "cap": "6", "seed": "7", "input": "pre_rope",
                                  "model": "0"})
        yield path


class Test(unittest.TestCase):
    def same_rows(self, cache, session, model, limit=UNITS[torch.float32]):
        """The cache holds the session's rows; numbers of rows of its lists."""
        lengths = set()
        by_head = "kvHead" in session.policies()["layers"][0]
        for layer, held in enumerate(cache.layers):
            self.assertEqual(held.keys.shape[2], max(len(cache.kvlab.rows(layer, head)) for head in heads_of(model)))
            for head in heads_of(model):
                rows = rows_of(session, layer, head)
                self.assertEqual(cache.kvlab.rows(layer, head), rows, (layer, head))
                lengths.add(len(rows))
                own = layer * len(heads_of(model)) + head if by_head else layer
                for theirs, ours in zip((held.keys, held.values), session.rows_array(own, rotated=True)):
                    ours = torch.from_numpy(ours)[:, 0 if by_head else head]
                    worst = apart(theirs[0, head, : len(rows)].float(), ours).max().item()
                    self.assertLess(worst, limit, (layer, head))
        return lengths

    def as_alone(self, model, folder, policy, ids=PROMPT, count=12):
        cache = hf.cache(model, policy=policy, folder=folder)
        tokens = generate(model, cache, ids, count)
        session, wanted = alone(folder, policy, ids, count)
        with session:
            self.assertEqual(tokens, wanted)
            lengths = self.same_rows(cache, session, model)
        self.assertLess(max(lengths), len(ids))
        cache.kvlab.close()
        return lengths


class Policies(Test):
    def test_generate_keeps_what_a_session_alone_keeps(self):
        for name in ("llama_tied_f32", "qwen3_f32"):
            for attention in ("sdpa", "eager"):
                model = model_of(name, attention)
                for policy in POLICIES:
                    with self.subTest(name=name, attention=attention, policy=policy):
                        self.as_alone(model, HERE / "models" / name, policy)

    def test_gates(self):
        """SmartKV with the gates that come with the demo model, and with random ones for others."""
        model = model_of("demo")
        self.as_alone(model, "demo", "smartkv:ratio=0.25")
        self.as_alone(model, "demo", "smartkv:preset=paper,ratio=0.25")
        for name in ("llama_tied_f32", "qwen3_f32"):
            model = model_of(name)
            with self.subTest(name), gates(model) as path:
                self.as_alone(model, HERE / "models" / name, {"name": "smartkv", "ratio": 0.25, "gates": str(path)})

    def test_heads_of_unequal_length(self):
        lengths = self.as_alone(model_of("llama_tied_f32"), HERE / "models/llama_tied_f32", "adakv:ratio=0.3,window=4")
        self.assertGreater(len(lengths), 1)

    def test_layers_with_a_window(self):
        for name, attention in (("mistral_window_f32", "sdpa"), ("gemma2_f32", "eager"), ("gemma3_f16", "sdpa")):
            model = model_of(name, attention)
            for policy in ("streaming_llm:sinks=2,window=8", "adakv:ratio=0.5,window=4", "h2o:ratio=0.5"):
                with self.subTest(name=name, policy=policy):
                    self.as_alone(model, HERE / "models" / name, policy)

    def test_sixteen_bit_models(self):
        for name, dtype in (("llama_llama3_bf16", torch.bfloat16), ("gemma3_f16", torch.float16)):
            model = model_of(name, dtype=dtype)
            cache = hf.cache(model, policy="h2o:ratio=0.5")
            generate(model, cache, PROMPT, 8)
            self.same_rows(cache, cache.kvlab.session, model, UNITS[dtype] * 4)

    def test_logits_are_those_of_a_masked_pass_over_the_text(self):
        """One pass without a cache, whose mask lets a query see the rows that its layer and head held then."""
        for name, policy in (("llama_tied_f32", "adakv:ratio=0.3,window=4"), ("qwen3_f32", "h2o:ratio=0.3"),
                             ("mistral_window_f32", "adakv:ratio=0.5,window=4")):
            with self.subTest(name):
                model = model_of(name, "eager")
                cache = hf.cache(model, policy=policy)
                config, layers = model.config, range(model.config.num_hidden_layers)
                ids, total, logits = list(PROMPT), len(PROMPT) + 10, []
                sees = torch.ones(len(layers), len(heads_of(model)), total, total, dtype=torch.bool).tril()
                with torch.no_grad():
                    out = model(torch.tensor([ids]), past_key_values=cache).logits
                    while len(ids) < total:
                        for layer in layers:
                            for head in heads_of(model):
                                gone = sorted(set(range(len(ids))) - set(cache.kvlab.rows(layer, head)))
                                sees[layer, head, len(ids):, gone] = False
                        ids.append(int(out[0, -1].argmax()))
                        out = model(torch.tensor([ids[-1:]]), past_key_values=cache).logits
                        logits.append(out[0, -1])
                    cache.kvlab.close()
                    wanted = self.masked(model, ids, sees, config)
                torch.testing.assert_close(torch.stack(logits), wanted[len(PROMPT):], rtol=1e-4, atol=1e-4)
                self.assertLess(sees.sum(), torch.ones_like(sees).tril().sum())

    def masked(self, model, ids, sees, config):
        def own(layer):
            def hook(module, args, kwargs):
                mask = sees[layer].repeat_interleave(config.num_attention_heads // len(sees[layer]), 0)[None]
                mask = kwargs["attention_mask"].masked_fill(~mask, torch.finfo(torch.float32).min)
                return args, {**kwargs, "attention_mask": mask}
            return hook

        hooks = [module.register_forward_pre_hook(own(layer), with_kwargs=True)
                 for layer, module in enumerate(attentions_of(model))]
        try:
            return model(torch.tensor([ids]), use_cache=False).logits[0]
        finally:
            for hook in hooks:
                hook.remove()


class Using(Test):
    def setUp(self):
        self.model = model_of("llama_tied_f32")
        self.folder = HERE / "models/llama_tied_f32"

    def cache(self, policy="h2o:ratio=0.5", **more):
        cache = hf.cache(self.model, policy=policy, **more)
        self.addCleanup(cache.kvlab.close)
        return cache

    def test_rows_leave_when_a_prompt_ends_and_after_each_token(self):
        cache = self.cache()
        with torch.no_grad():
            self.model(torch.tensor([PROMPT]), past_key_values=cache)
            self.assertEqual({layer.keys.shape[2] for layer in cache.layers}, {20})
            self.assertEqual(cache.get_seq_length(), 40)
            self.model(torch.tensor([[5]]), past_key_values=cache)
        self.assertEqual({layer.keys.shape[2] for layer in cache.layers}, {20})
        self.assertEqual(cache.get_seq_length(), 41)

    def test_formats_are_what_the_model_attends_to(self):
        plain = self.cache("adakv:ratio=0.5,window=4")
        generate(self.model, plain, PROMPT, 2)
        for format in ("int8", "f16", {"k": "fp8-e4m3", "v": "int8"}):
            cache = self.cache("adakv:ratio=0.5,window=4", format=format)
            generate(self.model, cache, PROMPT, 8)
            self.same_rows(cache, cache.kvlab.session, self.model, 1e-7)
            self.assertFalse(torch.equal(cache.layers[1].keys[0, 0, :4], plain.layers[1].keys[0, 0, :4]))

    def test_the_session_can_be_edited_between_two_passes(self):
        cache = self.cache("full")
        tokens = generate(self.model, cache, PROMPT, 5)
        session, _ = alone(self.folder, "full", PROMPT, 5)
        with session:
            for one in (cache.kvlab.session, session):
                one.inject([{"action": "delete", "position": 7}], now=True)
                one.evict(1, [3, 4, 5], now=True)
            self.assertEqual(cache.get_seq_length(), 43)
            more = generate(self.model, cache, cache.kvlab.session.tokens + tokens[-1:], 6)
            session.step(tokens=tokens[-1:])
            self.assertEqual(more, [one["token"] for one in session.step(6)])
            session.undo(1)
            self.same_rows(cache, session, self.model)
            cache.kvlab.session.undo(6)
            again = generate(self.model, cache, cache.kvlab.session.tokens + tokens[-1:], 6)
            self.assertEqual(again, more)

    def test_a_prompt_that_the_session_has_read(self):
        cache = self.cache()
        cache.kvlab.session.prompt_ids(PROMPT)
        tokens = generate(self.model, cache, PROMPT + [5], 6)
        session, _ = alone(self.folder, "h2o:ratio=0.5", PROMPT, 1)
        with session:
            session.step(tokens=[5])
            self.assertEqual(tokens, [one["token"] for one in session.step(6)])
            session.undo(1)
            self.same_rows(cache, session, self.model)
            cache.kvlab.session.settings(position="cache")
            cache.kvlab.session.step(tokens=[7])
            with self.assertRaisesRegex(ValueError, "phases are not the positions"):
                cache.get_seq_length()

    def test_a_second_prompt(self):
        cache = self.cache()
        tokens = generate(self.model, cache, PROMPT, 4)
        more = generate(self.model, cache, PROMPT + tokens + [9, 8, 7], 4)
        session, _ = alone(self.folder, "h2o:ratio=0.5", PROMPT, 4)
        with session:
            session.prompt_ids(tokens[-1:] + [9, 8, 7])
            self.assertEqual(more, [one["token"] for one in session.step(4)])
            session.undo(1)
            self.same_rows(cache, session, self.model)

    def test_reset_begins_anew(self):
        cache = self.cache()
        tokens = generate(self.model, cache, PROMPT, 4)
        cache.reset()
        self.assertEqual((cache.get_seq_length(), len(cache.layers)), (0, 0))
        self.assertEqual(generate(self.model, cache, PROMPT, 4), tokens)

    def test_what_is_refused_changes_nothing(self):
        cache = self.cache()
        generate(self.model, cache, PROMPT, 4)
        padded = torch.ones(1, 44, dtype=torch.long)
        padded[0, 0] = 0
        for call, why in (
                (lambda: cache.crop(-1), "has no crop"),
                (lambda: self.model(torch.tensor([[5], [6]]), past_key_values=cache), "2 sequences"),
                (lambda: self.model(torch.tensor([[5]]), past_key_values=cache, attention_mask=padded), "hides tokens"),
                (lambda: self.model(torch.tensor([[5]]), past_key_values=cache, position_ids=torch.tensor([[3]])),
                 "positions"),
                (lambda: self.model(inputs_embeds=torch.zeros(1, 1, 64), past_key_values=cache), "embeddings")):
            with self.assertRaisesRegex(ValueError, why):
                call()
        self.same_rows(cache, cache.kvlab.session, self.model)
        with self.assertRaisesRegex(ValueError, "sequences"):
            self.model.generate(torch.tensor([PROMPT]), past_key_values=self.cache(), num_beams=2, max_new_tokens=3)

    def test_a_pass_that_the_session_refuses_changes_nothing(self):
        cache = self.cache("full", capacity=42)
        with self.assertRaises(kvlab.Error) as caught:
            generate(self.model, cache, PROMPT, 12)
        self.assertEqual(caught.exception.code, "capacity")
        self.assertEqual(cache.get_seq_length(), 42)
        self.same_rows(cache, cache.kvlab.session, self.model)

    def test_a_pass_that_fails_in_the_model_changes_nothing(self):
        cache = self.cache()
        tokens = generate(self.model, cache, PROMPT, 4)

        def fail(*_):
            raise RuntimeError("planted")

        hook = self.model.model.layers[1].mlp.register_forward_pre_hook(fail)
        with self.assertRaisesRegex(RuntimeError, "planted"):
            self.model(torch.tensor([[77]]), past_key_values=cache)
        hook.remove()
        more = generate(self.model, cache, PROMPT + tokens, 4)
        self.same_rows(cache, cache.kvlab.session, self.model)
        self.assertEqual(tokens + more, generate(self.model, self.cache(), PROMPT, 8))

    def test_another_model_is_found_out(self):
        with self.assertRaisesRegex(ValueError, "2 KV heads, that of the session 4"):
            hf.cache(self.model, folder=HERE / "models/llama_untied_f32")
        cache = self.cache("h2o:ratio=0.5", folder=self.other_weights())
        with self.assertRaisesRegex(ValueError, "rows of layer 0 differ"):
            generate(self.model, cache, PROMPT, 2)

    def other_weights(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        other = model_of("llama_tied_f32")
        with torch.no_grad():
            other.model.layers[0].self_attn.v_proj.weight *= 1.001
        other.save_pretrained(folder.name)
        return folder.name

    def test_a_dropped_cache_ends_its_session(self):
        cache = hf.cache(self.model, policy="h2o:ratio=0.5")
        generate(self.model, cache, PROMPT, 2)
        kept, seen = cache.kvlab, weakref.ref(cache)
        del cache
        gc.collect()
        self.assertIsNone(seen())
        self.assertIn("closed", repr(kept.session))
        self.assertFalse(self.model._forward_hooks)
        self.assertFalse(attentions_of(self.model)[0]._forward_pre_hooks)

    def test_two_caches_of_one_model(self):
        one, other = self.cache("h2o:ratio=0.5"), self.cache("knorm:ratio=0.25")
        policies = ("h2o:ratio=0.5", "knorm:ratio=0.25")
        wanted = [generate(self.model, self.cache(policy), PROMPT, 8) for policy in policies]
        plain = generate(self.model, transformers.DynamicCache(), PROMPT, 8)
        found = [generate(self.model, cache, PROMPT, 4) for cache in (one, other)]
        found = [tokens + generate(self.model, cache, PROMPT + tokens, 4) for cache, tokens in zip((one, other), found)]
        self.assertEqual(found, wanted)
        self.assertEqual(generate(self.model, transformers.DynamicCache(), PROMPT, 8), plain)

    def test_a_watch_says_where_to_look(self):
        with hf.watch(self.model) as watch:
            generate(self.model, self.cache(), PROMPT, 2)
            with self.assertRaisesRegex(ValueError, "cache.kvlab.session"):
                watch.check()


class Real(Test):
    def test_smollm2(self):
        from kept_rows_test import tokens
        from real_model_test import TEXT, files, load
        found = [path for name, path in files() if "smollm" in name.lower()]
        if not found:
            print("skipped: no GGUF file of SmolLM2, see kvlab model get")
            sys.exit(77)
        with kvlab.open(str(found[0]), capacity=8) as session:
            ids = [int(one) for one in session.tokenise(TEXT.read_text()[:2000])][:200]
        model = load(found[0])
        model.generation_config.eos_token_id = None
        with gates(model) as path:
            gated = {"name": "smartkv", "ratio": 0.25, "gates": str(path)}
            for policy in (gated, *(one.replace("0.3", "0.25") for one in POLICIES)):
                with self.subTest(policy=policy):
                    begin = time.perf_counter()
                    lengths = self.as_alone(model, found[0], policy, ids, 40)
                    print(f"{policy}: {len(ids)} tokens and 40 behind them as the session alone has them, "
                          f"{min(lengths)} to {max(lengths)} rows, {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    chosen = [Real] if sys.argv[1:2] == ["real"] else [Policies, Using]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(one) for one in chosen)
    sys.exit(not unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful())
