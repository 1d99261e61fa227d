# SPDX-License-Identifier: Apache-2.0
"""kvlab.kvpress.run: presses of kvpress on a session's rows, with the newest transformers as with those it asks for.

    python kvpress_run_test.py         the rows that kvpress itself keeps (kept_rows/) on fixtures and the demo model
    python kvpress_run_test.py real    eighteen presses on Gemma 3 270M (real_model_test.py), 600 tokens

The package must be on the path. Exit status 77 where kvpress, another package or a file is missing."""
import collections
import importlib.util
import json
import logging
import pathlib
import sys
import time
import unittest

missing = [name for name in ("kvpress", "torch", "transformers", "kvlab") if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: needs {' and '.join(missing)} (pip install --no-deps kvpress==0.5.5; "
          "cachetools, datasets, fire, requests)")
    sys.exit(77)

import torch  # noqa: E402
import transformers  # noqa: E402
from kvpress import KeyRerotationPress, KnormPress, MergingPress, SnapKVPress, ThinKPress  # noqa: E402

import kvlab  # noqa: E402
from kvlab import hf, kvpress  # noqa: E402
from kvpress_rows import PRESSES, ObservedAttentionPress, differences, folder_of, model_of, prompt, ranges  # noqa: E402
from press_rows import drawn, eager  # noqa: E402
from press_rows import PRESSES as OTHERS  # noqa: E402

KEPT = pathlib.Path(__file__).resolve().parent / "kept_rows"
F32 = {"dtype": "f32", "kv": {"k": "f32", "v": "f32"}, "residency": "kv_head"}
BY_POLICY = {(name, json.dumps(keys, sort_keys=True)): make for name, keys, make in PRESSES}


def prompted(name, ids, **manifest):
    session = kvlab.open(str(folder_of(name)), **{**F32, **manifest})
    session.prompt_ids(ids)
    return session


def press_of(policy):
    """The press beside a preset."""
    keys = dict(policy)
    name, ratio = f"{keys.pop('name')}:{keys.pop('preset')}", keys.pop("ratio")
    return BY_POLICY[name, json.dumps(keys, sort_keys=True)](1 - ratio)


def model_for(name, attention):
    return model_of(str(folder_of(name)), "eager" if attention else "sdpa")


class Rows(unittest.TestCase):
    def kept(self, session, press, model):
        """Ranges of the rows that the session holds behind a press."""
        kept = kvpress.run(press, session, model)
        for layer, heads in enumerate(kept):
            for head, rows in enumerate(heads):
                self.assertEqual(session.rows(layer, kv_head=head)["position"], rows)
        return [[ranges(rows) for rows in heads] for heads in kept]

    def test_presses_with_a_preset(self):
        counts = collections.Counter()
        for one in json.loads((KEPT / "kept_rows.json").read_text())[::5]:
            press = press_of(one["policy"])
            with prompted(one["model"], one["ids"]) as session:
                kept = self.kept(session, press, model_for(one["model"], isinstance(press, ObservedAttentionPress)))
            bad, ties, lists = differences(one, kept)
            self.assertEqual(bad, [])
            counts.update(lists=lists, ties=ties)
        print(f"transformers {transformers.__version__}: {counts['lists']} lists as kvpress keeps them, "
              f"{counts['ties']} up to ties")
        self.assertGreater(counts["lists"], 400)

    def test_presses_whose_rule_kvlab_does_not_have(self):
        for one in json.loads((KEPT / "press_rows.json").read_text()):
            with self.subTest(model=one["model"], press=one["press"]), prompted(one["model"], one["ids"]) as session:
                kept = self.kept(session, drawn(one["press"]), model_for(one["model"], eager(one["press"])))
                self.assertEqual(kept, one["kept"])

    def test_the_rows_are_the_sessions(self):
        """A press sees int8 rows where the session stores such: it keeps what the session's own policy keeps."""
        ids = prompt(60, 3, 90)
        kv = {"k": "int8", "v": "int8"}
        with (prompted("qwen3_f32", ids, kv=kv) as session,
              prompted("qwen3_f32", ids, kv=kv, policy="knorm:ratio=0.5") as own):
            self.kept(session, KnormPress(0.5), model_for("qwen3_f32", False))
            for layer in range(2):
                for head in range(2):
                    self.assertEqual(*(one.rows(layer, kv_head=head)["position"] for one in (session, own)))


class Using(unittest.TestCase):
    def setUp(self):
        self.model, self.ids = model_for("llama_tied_f32", False), prompt(60, 5, 90)

    def session(self, **manifest):
        session = prompted("llama_tied_f32", self.ids, **manifest)
        self.addCleanup(session.close)
        return session

    def test_layers_of_two_kinds(self):
        """Gemma 3 has a rotary embedding for each; kvpress's expected attention knows one."""
        model = model_for("gemma3_f16", False)
        with prompted("gemma3_f16", self.ids) as session:
            kept = kvpress.run(drawn("criticalkv"), session, model)
            self.assertEqual({len(rows) for heads in kept for rows in heads}, {30})
            self.assertEqual(session.rows(5, kv_head=1)["position"], kept[5][1])

    def test_one_commit_that_can_be_undone(self):
        session = self.session()
        before, tick, size = session.state_hash, session.tick, session.bytes()
        kept = kvpress.run(KnormPress(0.5), session, self.model)
        self.assertEqual(session.tick, tick + 1)
        self.assertEqual({len(rows) for heads in kept for rows in heads}, {30})
        self.assertNotEqual(session.bytes(), size)
        self.assertFalse([one for one in session.invariants() if not one["ok"]])
        session.step(3)
        session.undo(4)
        self.assertEqual(session.state_hash, before)

    def test_a_model_generates_over_what_a_press_left(self):
        cache = hf.cache(self.model, residency="kv_head", folder=folder_of("llama_tied_f32"))
        self.addCleanup(cache.kvlab.close)
        own = self.session()
        with torch.no_grad():
            self.model(torch.tensor([self.ids]), past_key_values=cache)
            for session in (cache.kvlab.session, own):
                kvpress.run(drawn("critical_adakv"), session, self.model)
            token = 5
            for _ in range(8):
                logits = self.model(torch.tensor([[token]]), past_key_values=cache).logits[0, -1]
                own.step(tokens=[token])
                torch.testing.assert_close(logits, torch.tensor(own.logits()), rtol=1e-4, atol=1e-4)
                token = int(logits.argmax())
        for layer, held in enumerate(cache.layers):
            lengths = [len(own.rows(layer, kv_head=head)) for head in range(2)]
            self.assertEqual([len(cache.kvlab.rows(layer, head)) for head in range(2)], lengths)
            self.assertEqual(held.keys.shape[2], max(lengths))
            self.assertLess(max(lengths), 60)

    def test_the_model_is_as_it_was(self):
        with torch.no_grad():
            before = self.model(torch.tensor([self.ids])).logits
            kvpress.run(drawn("critical_adakv"), self.session(), self.model)
            module = self.model.model.layers[0].self_attn
            self.assertIsNone(getattr(module, "masked_key_indices", None))
            self.assertFalse(hasattr(module, "rotary_emb") or module._forward_pre_hooks or module._forward_hooks)
            torch.testing.assert_close(self.model(torch.tensor([self.ids])).logits, before, rtol=0, atol=0)

    def test_refusals_change_nothing(self):
        evicted = self.session()
        evicted.evict(1, [4], kv_head=1, now=True)
        for session, press, model, why in (
                (self.session(residency="layer"), KnormPress(0.5), self.model, "residency='kv_head'"),
                (self.session(), ThinKPress(0.5, window_size=4), self.model, "changed a row"),
                (self.session(), KeyRerotationPress(KnormPress(0.5)), self.model, "changed a row"),
                (self.session(), MergingPress(KnormPress(0.5)), self.model, "changed a row"),
                (evicted, KnormPress(0.5), self.model, "holds 59 of 60 rows"),
                (self.session(), KnormPress(0.5), model_for("qwen3_f32", False), "another model")):
            before = session.state_hash
            with self.assertRaisesRegex(ValueError, why):
                kvpress.run(press, session, model)
            self.assertEqual(session.state_hash, before)

    def test_layers_that_keep_the_same_rows_in_all_heads(self):
        session = self.session(residency="layer")
        kept = kvpress.run(drawn("chunkkv"), session, self.model)
        self.assertEqual(session.rows(1)["position"], kept[1][0])


class Real(unittest.TestCase):
    def test_gemma(self):
        from real_model_test import TEXT, files, load
        found = [path for name, path in files() if "gemma" in name.lower()]
        if not found:
            print("skipped: no GGUF file of Gemma 3, see kvlab model get")
            sys.exit(77)
        model = load(found[0])
        with kvlab.open(str(found[0]), capacity=1024, **F32) as session:
            session.prompt_ids([int(one) for one in session.tokenise(TEXT.read_text()[:6000])][:600])
            whole = session.tick
            for name in OTHERS:
                model.set_attn_implementation("eager" if eager(name) else "sdpa")
                begin = time.perf_counter()
                kept = kvpress.run(drawn(name), session, model)
                seconds = time.perf_counter() - begin
                self.assertFalse([one for one in session.invariants() if not one["ok"]], name)
                lengths = [len(rows) for heads in kept for rows in heads]
                tokens = [one["token"] for one in session.step(8)]
                print(f"{name}: {sum(lengths) / len(lengths) / 600:.1%} of the rows stay, {min(lengths)} to "
                      f"{max(lengths)} a head, in {seconds:.1f} s; then {session.detokenise(tokens)!r}")
                self.assertLess(sum(lengths), 600 * len(lengths))
                session.goto(whole)


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # kvpress warns of models that it has not tested
    chosen = [Real] if sys.argv[1:2] == ["real"] else [Rows, Using]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(one) for one in chosen)
    sys.exit(not unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful())
