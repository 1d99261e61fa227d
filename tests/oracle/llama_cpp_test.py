# SPDX-License-Identifier: Apache-2.0
"""Sequence files between llama.cpp and kvlab, both ways, on SmolLM2 and Gemma 3.

    python llama_cpp_test.py KVLAB

Files of llama.cpp are explained by `kvlab compare`: rows behind a hole are stale since that edit. Files of kvlab are
loaded by llama.cpp, which goes on with the tokens that it finds by itself. K and V in f16, q8_0 and q4_0, with and
without flash attention. Needs llama_cpp_python (llama_cpp.txt), the package kvlab on the path, and the models that
`kvlab model get` puts into XDG_DATA_HOME. Exit status 77 where one of them is missing."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import llama_cpp as llama
    import numpy as np
    from llama_cpp import _ggml

    import kvlab
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

DATA = pathlib.Path(os.environ.get("XDG_DATA_HOME", pathlib.Path.home() / ".local/share")) / "kvlab/models"
MODELS = {"smollm2-135m": [504, 8499, 1646, 314, 281, 260, 1297, 280, 282, 260, 1573, 2291, 335, 260, 13083, 30],
          "gemma3-270m": [2, 818, 10173, 2307, 563, 528, 506, 89033, 529, 506, 2255, 3155, 580, 506, 17971, 236761]}
KINDS = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8}
ON = 8  # tokens that both go on
# Rows that llama.cpp goes on from are made with 8-bit activations, as its own are.
# In q4_0 they round to other codes, and tokens tell nothing: llama.cpp's own, from one batch and from tokens one by one,
# differ as well. So q4_0 is judged by its distance to f16.
NUMERICS = "portable-q8"
ALIKE = ("f16", "q8_0")
# Two tokens as near to each other, in nats, may change places, as they do between llama.cpp's own f16 and q8_0; so many
# tokens must be the same before.
TIE, BEFORE = 0.1, 4
MOST, ARITHMETIC = 1.5, 0.01  # KL in nats behind our rows, to f16: so many times that of llama.cpp's own, and more


def divergence(ours, theirs):
    """KL(ours | theirs) of two rows of logits, in nats."""
    p, q = (x.astype(np.float64) - x.max() for x in (ours, theirs))
    p, q = p - np.log(np.exp(p).sum()), q - np.log(np.exp(q).sum())
    return float((np.exp(p) * (p - q)).sum())


def version_of(path):
    return int.from_bytes(path.read_bytes()[4:8], "little")


class Engine:
    """A context of llama.cpp with one sequence."""

    models = {}

    def __init__(self, name, kind, flash):
        if name not in self.models:
            params = llama.llama_model_default_params()
            params.n_gpu_layers = 0
            file = next((DATA / name).glob("*.gguf"))
            self.models[name] = llama.llama_model_load_from_file(str(file).encode(), params)
        params = llama.llama_context_default_params()
        params.n_ctx = params.n_batch = 256
        params.n_threads = params.n_threads_batch = 1
        params.type_k = params.type_v = KINDS[kind]
        params.flash_attn_type = 1 if flash else 0
        self.context = llama.llama_init_from_model(self.models[name], params)
        self.vocab = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.models[name]))
        self.memory = llama.llama_get_memory(self.context)
        self.ids = []

    def close(self):
        llama.llama_free(self.context)

    def feed(self, ids):
        """The logits behind the last one."""
        batch = llama.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i] = token, len(self.ids) + i
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
            batch.logits[i] = i == len(ids) - 1
        assert llama.llama_decode(self.context, batch) == 0
        llama.llama_batch_free(batch)
        self.ids += ids
        return np.ctypeslib.as_array(llama.llama_get_logits_ith(self.context, -1), (self.vocab,)).copy()

    def remove(self, begin, end):
        """Tokens leave, and the rest moves up: a shift of the context."""
        assert llama.llama_memory_seq_rm(self.memory, 0, begin, end)
        llama.llama_memory_seq_add(self.memory, 0, end, -1, begin - end)
        del self.ids[begin:end]

    def again(self):
        """The logits behind the last token, which is computed once more."""
        last = self.ids.pop()
        assert llama.llama_memory_seq_rm(self.memory, 0, len(self.ids), -1)
        return self.feed([last])

    def go_on(self, count=ON):
        """Greedily, behind a last token that is computed once more: tokens, and how far in nats before the next one."""
        out = []
        while len(out) < count:
            logits = self.feed([out[-1][0]]) if out else self.again()
            last, first = np.partition(logits, -2)[-2:]
            out.append((int(logits.argmax()), float(first - last)))
        return out

    def save(self, path, text):
        """text: the ids that the file names, which llama.cpp takes from its caller."""
        ids = (llama.llama_token * len(text))(*text)
        assert llama.llama_state_seq_save_file(self.context, str(path).encode(), 0, ids, len(text)) > 0

    def load(self, path):
        ids, count = (llama.llama_token * 256)(), ctypes.c_size_t(0)
        read = llama.llama_state_seq_load_file(self.context, str(path).encode(), 0, ids, 256, ctypes.byref(count))
        assert read == path.stat().st_size, f"{read} of {path.stat().st_size} bytes"
        self.ids = list(ids[:count.value])


def rows_of(path):
    """The bytes of the rows of each tensor of a file of one part without transposed values, of version 3."""
    data, out = path.read_bytes(), []
    at = 12 + 4 * int.from_bytes(data[8:12], "little")
    cells = int.from_bytes(data[at + 4:at + 8], "little")
    at += 8 + 12 * cells + 8
    while at < len(data):
        size = cells * int.from_bytes(data[at + 4:at + 12], "little")
        out.append(data[at + 12:at + 12 + size])
        at += 12 + size
    return out


def ways():
    """K and V in each type; a type in blocks needs flash attention."""
    for name in MODELS:
        for kind, flash in (("f16", True), ("f16", False), ("q8_0", True), ("q4_0", True)):
            yield name, kind, flash


def each_way(test):
    """Runs a test for each model and type."""
    def run(self):
        for name, kind, flash in ways():
            with self.subTest(model=name, type=kind, flash=flash):
                test(self, name, kind, flash)
    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


class LlamaCpp(unittest.TestCase):
    program = None

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.path = pathlib.Path(self.scratch.name) / "sequence.ggsq"

    @classmethod
    def setUpClass(cls):
        """The version of files that this llama.cpp reads is the one that it writes."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "probe"
            probe = Engine("smollm2-135m", "f16", True)
            probe.feed([1])
            probe.save(path, [1])
            probe.close()
            cls.version = version_of(path)
        print("sequence files of version", cls.version, file=sys.stderr)

    def wrote(self, session, kind, flash):
        session.save_cache(str(self.path), form="llama_cpp", type=kind, flash=flash, version=self.version)

    def near(self, loaded, theirs, exact):
        """Logits behind rows of ours, behind llama.cpp's own in the same type, and behind its own in f16."""
        far, own = divergence(exact, loaded), divergence(exact, theirs)
        print(f" KL to f16: {far:.4f}, llama.cpp's own {own:.4f}", file=sys.stderr)
        self.assertLessEqual(far, MOST * own + ARITHMETIC)

    def same(self, tokens, theirs):
        """The tokens are those of llama.cpp, at least up to a tie there."""
        for i, (token, (own, ahead)) in enumerate(zip(tokens, theirs, strict=True)):
            if token != own:
                print(f" a tie at token {i}: {ahead:.2f} nats", file=sys.stderr)
                self.assertLess(ahead, TIE, f"token {i} of {tokens} and {theirs}")
                self.assertGreaterEqual(i, BEFORE, f"{tokens} and {theirs}")
                return

    def engine(self, *way):
        made = Engine(*way)
        self.addCleanup(made.close)
        return made

    @each_way
    def test_it_goes_on_from_our_rows(self, name, kind, flash):
        ids = MODELS[name]
        with kvlab.open(name, threads=1, numerics=NUMERICS) as session:
            session.prompt_ids(ids)
            self.wrote(session, kind, flash)
            ours = [tick["token"] for tick in session.step(ON)]
        theirs, exact = self.engine(name, kind, flash), self.engine(name, "f16", flash)
        theirs.feed(ids)
        exact.feed(ids)
        loaded = self.engine(name, kind, flash)
        loaded.load(self.path)
        self.assertEqual(loaded.ids, ids)
        self.near(loaded.again(), theirs.again(), exact.again())
        if kind in ALIKE:
            own = theirs.go_on()
            self.same([token for token, _ in loaded.go_on()], own)
            self.same(ours, own)

    @each_way
    def test_it_goes_on_from_an_edited_cache(self, name, kind, flash):
        """Three tokens leave, and the rows behind them stay as they are: what llama.cpp's shift does."""
        with kvlab.open(name, threads=1, numerics=NUMERICS, after_edit="keep") as session:
            session.prompt_ids(MODELS[name])
            session.inject([{"action": "delete", "position": i} for i in (5, 6, 7)])
            session.apply()
            self.wrote(session, kind, flash)
        theirs, exact = self.engine(name, kind, flash), self.engine(name, "f16", flash)
        for one in (theirs, exact):
            one.feed(MODELS[name])
            one.remove(5, 8)
        loaded = self.engine(name, kind, flash)
        loaded.load(self.path)
        self.assertEqual(loaded.ids, theirs.ids)
        self.near(loaded.again(), theirs.again(), exact.again())
        if kind in ALIKE:
            self.same([token for token, _ in loaded.go_on()], theirs.go_on())

    def test_codes_are_those_of_ggml(self):
        """To the bit. Heads of 32 values, which llama.cpp does not turn."""
        with kvlab.open("demo", threads=1) as session:
            session.prompt("A cache holds a key and a value for each token, and nobody reads them. " * 8)
            files = {}
            for kind in ("f32", "q8_0", "q4_0"):
                session.save_cache(str(self.path), form="llama_cpp", type=kind)
                files[kind] = rows_of(self.path)
        for kind in ("q8_0", "q4_0"):
            quantise = getattr(_ggml.libggml, f"quantize_row_{kind}_ref")
            quantise.argtypes, quantise.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64], None
            for exact, codes in zip(files["f32"], files[kind], strict=True):
                values = np.frombuffer(exact, np.float32)
                expected = np.zeros(len(codes), np.uint8)
                quantise(values.ctypes.data, expected.ctypes.data, values.size)
                self.assertEqual(codes, expected.tobytes())

    # --- files of llama.cpp, explained

    def compared(self, name, engine, before=None, swapped=False):
        """before: the text before the edit, which the file names; the text of the cells is given beside it. swapped:
        the file names the text of its cells, as a server's does, and the text before the edit is given."""
        texts = [before or engine.ids, engine.ids]
        engine.save(self.path, texts[swapped])
        ids = self.path.with_name("ids.json")
        ids.write_text(json.dumps(texts[not swapped]))
        done = subprocess.run([self.program, "compare", str(self.path), "--model", name, "--ids", str(ids), "--json"],
                              capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1, 2), done.stderr)
        return done.returncode, json.loads(done.stdout)

    def explained(self, answer, row=None):
        """Rows from `row` on are stale since an edit, and nothing else is wrong with them."""
        stale = [one for one in answer["causes"] if "stale" in one["kind"]]
        self.assertEqual(len(stale), 0 if row is None else 1, answer["verdict"])
        if row is not None:
            self.assertIn(row, stale[0]["parameters"].values(), stale[0])

    @each_way
    def test_plain(self, name, kind, flash):
        engine = self.engine(name, kind, flash)
        engine.feed(MODELS[name])
        code, answer = self.compared(name, engine)
        self.assertIn(code, (0, 1), answer["verdict"])
        self.explained(answer)

    @each_way
    def test_a_hole_and_reused_cells(self, name, kind, flash):
        engine = self.engine(name, kind, flash)
        engine.feed(MODELS[name])
        engine.remove(5, 8)
        engine.feed([MODELS[name][1]])  # takes a cell of a row that left
        code, answer = self.compared(name, engine, MODELS[name])
        self.assertEqual(code, 1, answer["verdict"])
        self.explained(answer, 5)

    @each_way
    def test_a_shift_of_the_context(self, name, kind, flash):
        """The first tokens stay, half of the others leave, generation goes on."""
        engine = self.engine(name, kind, flash)
        engine.feed(MODELS[name] * 3)
        engine.remove(4, 4 + (len(engine.ids) - 4) // 2)
        engine.go_on(8)
        for swapped in (False, True):
            code, answer = self.compared(name, engine, MODELS[name] * 3, swapped)
            self.assertEqual(code, 1, answer["verdict"])
            self.explained(answer, 4)
        if kind not in ALIKE:
            return  # rounding to four bits is about as large as what a shift moves
        # Without the text before it: where it begins, and no more.
        code, answer = self.compared(name, engine)
        self.assertEqual(code, 2, answer["verdict"])
        self.explained(answer, 4)


if __name__ == "__main__":
    if any(not list((DATA / name).glob("*.gguf")) for name in MODELS):
        print("skipped: a model is missing; kvlab model get " + " ".join(MODELS))
        sys.exit(77)
    LlamaCpp.program = sys.argv.pop(1)
    silent = llama.llama_log_callback(lambda level, text, data: None)
    llama.llama_log_set(silent, ctypes.c_void_p(0))
    unittest.main(verbosity=2)
