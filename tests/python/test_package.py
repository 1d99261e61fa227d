# SPDX-License-Identifier: Apache-2.0
"""The package kvlab: every verb and table is a method; errors, tables, arrays, threads and signals."""
import concurrent.futures
import gc
import inspect
import json
import multiprocessing
import os
import pathlib
import pickle
import signal
import tempfile
import threading
import time
import unittest

import numpy as np

import kvlab
from kvlab._names import snake
from kvlab._session import of_session

STORY = "Anna has a red ball . Tom has a lamp . Where is the"


def resident():
    """Bytes of the program in memory."""
    gc.collect()
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


class Schema(unittest.TestCase):
    def test_every_verb_and_table_is_a_method(self):
        for verb in kvlab.lists("verbs"):
            if not of_session(verb) or verb["id"] == "at":
                continue
            method = getattr(kvlab.Session, snake(verb["id"]))
            self.assertTrue(method.__doc__.startswith(verb["title"]), verb["id"])
            names = list(inspect.signature(method).parameters)[1:]
            self.assertEqual(names, [snake(one["name"]) for one in verb["args"]], verb["id"])
        for table in kvlab.lists("tables"):
            method = getattr(kvlab.Session, snake(table["id"]))
            self.assertIn(table["title"], method.__doc__)
            for column in table["columns"]:
                self.assertIn(column["name"], method.__doc__)

    def test_no_two_names_are_one(self):
        names = [snake(one["id"]) for one in kvlab.lists("verbs") + kvlab.lists("tables") if one["id"] != "at"]
        self.assertEqual(sorted(set(names)), sorted(names))
        own = {"tick", "text", "tokens", "state_hash", "fork", "at", "lanes", "batch", "rows_array", "pool", "verb", "close",
               "view", "show"}
        self.assertFalse(own & set(names) - {"lane"})

    def test_lanes_and_batches_have_what_is_theirs(self):
        self.assertTrue({"step", "prompt", "needles", "losses", "difference"} <= set(dir(kvlab.Lanes)))
        self.assertTrue({"step", "prompts", "bytes", "release"} <= set(dir(kvlab.Batch)))


class Sessions(unittest.TestCase):
    def setUp(self):
        self.s = kvlab.open("demo")
        self.addCleanup(self.s.close)

    def test_the_first_steps(self):
        self.assertEqual(len(self.s), 0)
        self.assertTrue(self.s.prompt(STORY)["ok"])
        before = self.s.state_hash
        reports = self.s.step(3)
        self.assertEqual([one["ok"] for one in reports], [True] * 3)
        self.assertIn("Anna has a red ball", self.s.text)
        self.assertEqual(len(self.s.tokens), len(self.s))
        self.s.undo(3)
        self.assertEqual(self.s.state_hash, before)
        self.assertIn("tick 1", repr(self.s))
        self.assertIn("<table>", self.s._repr_html_())

    def test_errors_say_what_why_and_what_next(self):
        with self.assertRaises(kvlab.Error) as caught:
            self.s.evict(99, [0])
        error = caught.exception
        self.assertEqual(error.code, "out_of_range")
        self.assertTrue(error.what and error.why and error.remedy)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((again.code, str(again)), (error.code, str(error)))
        with self.assertRaises(kvlab.Error) as caught:
            kvlab.open("demo", polcy="h2o")
        self.assertIn("polcy", str(caught.exception))
        with self.assertRaises(TypeError):
            self.s.step(nothing=1)
        with self.assertRaisesRegex(TypeError, r"actions\[0\].new_token_ids: a value of type object"):
            self.s.inject([{"action": "insert", "new_token_ids": object()}])
        with self.assertRaisesRegex(ValueError, "value: the number is not finite"):
            self.s.set_brightness(0, float("nan"))

    def test_a_refused_call_changes_nothing(self):
        self.s.prompt(STORY)
        before = self.s.state_hash
        for call in (lambda: self.s.goto(99), lambda: self.s.inject([{"action": "delete", "position": 999}], now=True)):
            with self.assertRaises(kvlab.Error):
                call()
        self.assertEqual(self.s.state_hash, before)

    def test_numpy_values_are_arguments(self):
        ids = np.asarray(self.s.tokenise(STORY))
        self.s.prompt_ids(ids)
        self.assertEqual(self.s.tokens, ids.tolist())
        self.s.step(np.int64(2))
        self.assertEqual(self.s.tick, 3)

    def test_a_closed_session_refuses(self):
        self.s.close()
        with self.assertRaises(kvlab.Error) as caught:
            self.s.step()
        self.assertEqual(caught.exception.code, "closed_session")
        self.assertIn("closed", repr(self.s))

    def test_forks_past_lanes_batches(self):
        self.s.prompt(STORY)
        hashes = {self.s.tick: self.s.state_hash}
        self.s.step(2)
        self.assertEqual(self.s.at(1).state_hash, hashes[1])
        with self.s.fork() as then:
            then.undo(2)
            for now, before in zip(self.s.at(1).rows_array(1) + self.s.at(1).pool(1)[:1],
                                   then.rows_array(1) + then.pool(1)[:1]):
                np.testing.assert_array_equal(now[: len(then)], before[: len(then)])
        for call in (lambda: self.s.at(77), lambda: self.s.at(1).fork(), lambda: self.s.at(1).rows_array(99)):
            with self.assertRaises(kvlab.Error):
                call()
        self.assertEqual(self.s.verb("table", name="state", columns=["tick"])["columns"]["tick"], [3])
        with self.s.fork() as other:
            other.step(4)
            self.assertNotEqual(other.tick, self.s.tick)
        with self.s.lanes([{"policy": "h2o:sinks=1,window=4,budget=4"}]) as lanes:
            lanes.step(2)
            self.assertEqual(len(lanes), 2)
            self.assertEqual(lanes[0].tokens, lanes[1].tokens)
            with self.assertRaises(IndexError):
                lanes[2]
            with lanes[1].fork() as kept:
                self.assertLess(len(kept.rows(1)), len(kept))
                np.testing.assert_array_equal(lanes[1].rows_array(1)[0], kept.rows_array(1)[0])
                self.assertEqual(lanes[1].at(1).state_hash, kept.at(1).state_hash)
        with self.s.batch(2) as batch:
            batch.prompts([" ball", None])
            self.assertNotEqual(len(batch[0]), len(batch[1]))

    def test_captures_open_again(self):
        self.s.prompt(STORY)
        self.s.step(3)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "kept.kvcap"
            self.s.save_capture(path)
            with kvlab.open_capture(path) as again:
                self.assertEqual(again.state_hash, self.s.state_hash)


class Tables(unittest.TestCase):
    def setUp(self):
        self.s = kvlab.open("demo", policy="h2o:budget=24")
        self.addCleanup(self.s.close)
        self.s.prompt(STORY)
        self.s.step(8)

    def test_columns_and_rows(self):
        rows = self.s.rows(0, columns=["ledger", "tag", "brightness > 100"], where="position < 5")
        self.assertEqual(rows.columns, ["ledger", "tag", "brightness > 100"])
        self.assertEqual(rows["ledger"], rows["tag"])
        self.assertEqual(rows[0]["ledger"], 0)
        self.assertEqual(len(rows[1:3]), 2)
        self.assertIn("<table>", rows._repr_html_())

    def test_arrow_has_the_same_rows(self):
        import pyarrow

        self.s.pin(3)
        kinds = {"integer": "int64", "number": "double", "flag": "bool", "text": "large_string", "value": "large_string"}
        with self.s.lanes([{"kv": {"k": "int8", "v": "int8"}}]) as lanes, self.s.batch(2) as batch:
            lanes.step(1)
            tables = [self.s.rows(1), self.s.ledger(), self.s.ticks(), self.s.at(2).rows(1), self.s.at(1).ledger(),
                      self.s.topk(5), self.s.invariants(), self.s.story(3, 1), self.s.facts(), lanes[1].rows(0),
                      lanes[1].at(2).rows(0), batch[1].ledger(), self.s.ledger(where="id < 0"),
                      self.s.rows(0, columns=["ledger", "score * 2", "exactness == 'exact'", "text"][:3], limit=5)]
            for table in tables:
                taken = pyarrow.table(table)
                taken.validate(full=True)
                self.assertEqual((taken.num_rows, taken.column_names), (len(table), table.columns))
                of = {one["name"]: one["type"] for one in table._session._table(table._args["name"])["columns"]}
                for name in table.columns:
                    cells = taken[name].to_pylist()
                    if name in of:
                        self.assertEqual(taken[name].type, kinds[of[name]], name)
                    if of.get(name) == "value":
                        cells = [one if one is None else json.loads(one) for one in cells]
                    self.assertEqual(cells, list(table[name]), name)

    def test_many_rows_reach_a_file(self):
        """The rows of all layers behind every generated token, all columns. KVLAB_ROWS=10000000 must take ten seconds of the processor at most."""
        import pyarrow
        import pyarrow.parquet

        wanted = int(os.environ.get("KVLAB_ROWS", 100_000))
        length = min(10_000, wanted // 100)
        manifest = {"capacity": 2 * length, "history_bytes": 1 << 30, "check": {"level": "off"}}
        with kvlab.open("demo", **manifest) as s, tempfile.TemporaryDirectory() as folder:
            s.prompt_ids((s.tokenise(STORY) * length)[:length])
            first = s.tick
            s.step(wanted // (4 * length))
            path, written = pathlib.Path(folder) / "rows.parquet", 0
            begin, spent = time.monotonic(), time.process_time()
            file = None
            for tick in range(first, s.tick + 1):
                then = s.at(tick)
                for layer in range(4):
                    reader = pyarrow.RecordBatchReader.from_stream(then.rows(layer))
                    file = file or pyarrow.parquet.ParquetWriter(path, reader.schema)
                    for batch in reader:
                        file.write_batch(batch)
                        written += batch.num_rows
            file.close()
            seconds, spent = time.monotonic() - begin, time.process_time() - spent
            self.assertEqual(pyarrow.parquet.read_metadata(path).num_rows, written)
            self.assertGreaterEqual(written, wanted)
            if wanted >= 10_000_000:
                print(f"{written} rows, {path.stat().st_size} bytes, {seconds:.1f} s, {spent:.1f} s of the processor")
                self.assertLess(spent, 10)  # of an idle machine, at most

    def test_limits_and_pieces(self):
        """A limit is that of all pieces together; a long table comes in several."""
        import pyarrow

        self.assertEqual(pyarrow.table(self.s.rows(0, limit=3)).num_rows, 3)
        self.assertEqual(pyarrow.table(self.s.ledger(begin=2, limit=3))["id"].to_pylist(), [2, 3, 4])

    def test_a_stream_outlives_its_session(self):
        import pyarrow

        reader = pyarrow.RecordBatchReader.from_stream(self.s.rows(0))
        self.s.close()
        first = reader.read_next_batch()
        del reader
        gc.collect()
        self.assertGreater(first.num_rows, 0)


def small_sweep(stories=1, seeds=(1,)):
    ratios = {"name": "budget", "budget": "ratio", "values": [0.25, 0.5]}
    policies = {"name": "policy", "key": "policy", "values": ["h2o", {"label": "none", "value": "full", "without": ["budget"]}]}
    prompts = {"name": "short", "file": "resource:prompts/recall-256.json", "stories": stories, "questions": 1}
    return {"name": "small", "base": {"model": "demo"}, "axes": [policies, ratios], "seeds": list(seeds),
            "prompts": [prompts], "measure": ["recall", "kl", "bytes"], "expressions": ["rows(layer==0)"]}


class Sweeps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_cells_and_summary(self):
        import pyarrow

        done = kvlab.sweep(small_sweep(seeds=(1, 2)), out=self.folder / "small", jobs=1)
        self.assertEqual((len(done), done.failed, done.found), (6, 0, 0))
        self.assertEqual(done["axis.policy"], ["h2o", "h2o", "none"] * 2)
        self.assertEqual(done["budget_ratio"], [0.25, 0.5, None] * 2)
        self.assertLess(done[0]["rows_kept"], done[2]["rows_kept"])
        cells = pyarrow.table(done)
        cells.validate(full=True)
        self.assertEqual(cells.to_pylist(), list(done))
        self.assertEqual([one["cells"] for one in done.summary], [2, 2, 2])
        lines = (self.folder / "small" / "results.csv").read_text().splitlines()
        self.assertEqual(lines[0].split(","), done.columns)
        self.assertIn("<svg", done._repr_html_())
        with self.assertRaises(kvlab.Error) as caught:
            kvlab.sweep(small_sweep(seeds=(1, 2)), out=self.folder / "small")
        self.assertEqual(caught.exception.code, "sweep_exists")
        again = kvlab.sweep(small_sweep(seeds=(1, 2)), out=self.folder / "small", resume=True)
        self.assertEqual((again.found, list(again)), (6, list(done)))

    def test_a_cell_opens_at_its_answer(self):
        spec = {**small_sweep(), "prompts": [{"task": "needle_single_1", "length": 256, "samples": 2, "max_new_tokens": 4}],
                "measure": ["answers"]}
        kvlab.sweep(spec, out=self.folder / "tasks")
        answers = [json.loads(one) for one in (self.folder / "tasks/answers.jsonl").read_text().splitlines()]
        for answer in answers:
            with kvlab.open_cell(self.folder / "tasks", answer["index"], answer["story"]) as session:
                fed = answer["ids"][:3]  # the fourth is the likeliest next
                self.assertEqual([int(one) for one in session.tokens][-len(fed):], fed)
        with self.assertRaises(kvlab.Error) as caught:
            kvlab.open_cell(self.folder / "tasks", 99)
        self.assertEqual(caught.exception.code, "bad_argument")

    def test_shards_and_engines_give_the_bytes_of_one_run(self):
        spec = small_sweep(seeds=(1, 2, 3))
        kvlab.sweep(spec, out=self.folder / "whole", jobs=1)

        def same(name):
            for file in ("results.jsonl", "results.csv", "summary.csv", "pareto.svg"):
                self.assertEqual((self.folder / name / file).read_bytes(), (self.folder / "whole" / file).read_bytes())

        parts = [self.folder / f"part{i}" for i in (1, 2)]
        self.assertEqual([len(kvlab.sweep(spec, out=one, shard=(i, 2))) for i, one in enumerate(parts, 1)], [6, 3])
        with self.assertRaises(kvlab.Error) as caught:
            kvlab.merge(parts[:1], self.folder / "merged")
        self.assertEqual(caught.exception.code, "missing_cells")
        self.assertEqual(len(kvlab.merge(parts, self.folder / "merged")), 9)
        same("merged")
        with concurrent.futures.ThreadPoolExecutor(2) as engine:
            done = kvlab.sweep(spec, out=self.folder / "threads", engine=engine, jobs=1)
            self.assertEqual(len(done), 9)
            same("threads")
            with self.assertRaises(kvlab.Error) as caught:
                kvlab.sweep(spec, out=self.folder / "threads", engine=engine)
            self.assertEqual(caught.exception.code, "sweep_exists")
            kvlab.sweep(spec, out=self.folder / "threads", engine=engine, resume=True)
            with self.assertRaisesRegex(kvlab.Error, "3 such groups for 4 shards"):
                kvlab.sweep(spec, out=self.folder / "many", engine=engine, shards=4)
            with self.assertRaisesRegex(kvlab.Error, "exclude"):
                kvlab.sweep(spec, out=self.folder / "both", engine=engine, shard=(1, 2))
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as engine:
            kvlab.sweep(spec, out=self.folder / "processes", engine=engine, jobs=1, shards=2)
            same("processes")
        import submitit  # its jobs are processes of their own
        engine = submitit.LocalExecutor(folder=self.folder / "log")
        engine.update_parameters(timeout_min=10)
        kvlab.sweep(spec, out=self.folder / "submitit", engine=engine, jobs=1, shards=2)
        same("submitit")

    def test_names_and_mistakes(self):
        with self.assertRaisesRegex(kvlab.Error, "nothing.json"):
            kvlab.sweep("nothing.json", out=self.folder)
        with self.assertRaisesRegex(kvlab.Error, "axis"):
            kvlab.sweep({**small_sweep(), "axis": []}, out=self.folder)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_ctrl_c_ends_inside_a_cell_and_resume_goes_on(self):
        threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            kvlab.sweep("layouts", out=self.folder / "long", jobs=2)
        self.assertLess(time.monotonic() - begin, 5)
        few = small_sweep()
        kvlab.sweep(few, out=self.folder / "few", resume=True)
        self.assertEqual(kvlab.sweep(few, out=self.folder / "few", resume=True).found, 3)


class Rows(unittest.TestCase):
    def test_arrays_are_the_stored_rows(self):
        with kvlab.open("demo") as s:
            s.prompt(STORY)
            k, v = s.rows_array(1)
            self.assertEqual(k.shape, v.shape)
            self.assertEqual(k.shape[0], len(s))
            one = s.row(1, 3)
            np.testing.assert_array_equal(k[3].ravel(), np.asarray(one["data"], np.float32).ravel())
            rotated, _ = s.rows_array(1, rotated=True)
            np.testing.assert_allclose(np.linalg.norm(rotated, axis=-1), np.linalg.norm(k, axis=-1), rtol=1e-5)
            self.assertFalse(np.array_equal(rotated, k))
            np.testing.assert_array_equal(rotated[0], k[0])  # phase 0
            with self.assertRaises(kvlab.Error):
                s.rows_array(99)

    def test_a_pool_stays_as_it_was(self):
        s = kvlab.open("demo", kv={"k": "f32", "v": "f32"})
        s.prompt(STORY)
        records, said = s.pool(0)
        with self.assertRaises(ValueError):
            records[0] = 0
        slots = s.rows(0)["slot"]
        k, v = s.rows_array(0)
        width = said["kv_heads"] * said["head_dim"]
        stored = records[slots, : 4 * width].view(np.float32).reshape(k.shape)
        np.testing.assert_array_equal(stored, k)
        kept = records[slots].copy()
        s.settings(kv={"k": "int8", "v": "int8"})
        s.step(5)
        s.inject([{"action": "delete", "position": 2}], now=True)
        np.testing.assert_array_equal(records[slots], kept)
        s.close()
        del s
        gc.collect()
        np.testing.assert_array_equal(records[slots], kept)


class Threads(unittest.TestCase):
    def test_ctrl_c_ends_behind_a_whole_tick(self):
        with kvlab.open("demo") as s:
            s.prompt(STORY)
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            begin = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                while time.monotonic() - begin < 20:
                    s.step(1000)
                    s.goto(1)
            self.assertLess(time.monotonic() - begin, 10)
            self.assertEqual(len(s), len(s.tokens))
            self.assertFalse([one for one in s.invariants() if not one["ok"]])
            s.step(2)

    def test_sessions_in_four_threads(self):
        texts = [None] * 4

        def work(i):
            with kvlab.open("demo") as s:
                s.prompt(STORY)
                s.step(20)
                texts[i] = s.text

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(texts)), 1)

    def test_one_session_in_four_threads(self):
        with kvlab.open("demo") as s:
            s.prompt(STORY)
            threads = [threading.Thread(target=lambda: [s.step(1) for _ in range(10)]) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(s.tick, 41)

    def test_four_threads_on_one_session_leave_nothing_behind(self):
        """What they hold is dropped in any order, while the others go on."""
        import pyarrow

        rounds, failed = int(os.environ.get("KVLAB_ROUNDS", 20)), []

        def work(s):
            try:
                for _ in range(rounds):
                    held = [s.rows_array(1), s.pool(0), s.at(1).rows_array(0), pyarrow.table(s.rows(0)), s.fork()]
                    s.undo(len(s.step(1)))
                    held.pop(0)
                    held[-1].step(1)
                    list(s.ledger(live=True))
            except BaseException as error:
                failed.append(error)

        def four(s):
            threads = [threading.Thread(target=work, args=(s,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        with kvlab.open("demo") as s:
            s.prompt(STORY)
            four(s)
            before = resident()
            four(s)
            self.assertEqual(failed, [])
            self.assertLess(resident() - before, 16 << 20)
            self.assertFalse([one for one in s.invariants() if not one["ok"]])

    def test_nothing_is_left_behind(self):
        def many(count):
            for _ in range(count):
                s = kvlab.open("demo")
                s.prompt("a ball")
                s.rows_array(0)
                list(s.rows(0))
                del s

        many(20)
        before = resident()
        many(int(os.environ.get("KVLAB_OPENED", 200)))
        self.assertLess(resident() - before, 16 << 20)


if __name__ == "__main__":
    unittest.main()
