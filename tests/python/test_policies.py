# SPDX-License-Identifier: Apache-2.0
"""Policies in Python: rules, options, state, failures, captures without the rule, threads."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import numpy as np

import kvlab

STORY = "Anna has a red ball . Tom has a lamp . Where is the ball ? Tom takes the lamp . Anna goes to the garden . "
BANDS = "sinks=2,window=6,budget=10"


@kvlab.policy
class Heavy:
    """Rows that have received most attention."""

    needs = ["received"]

    def score(self, rows):
        return rows.received


@kvlab.policy
class Short:
    """Keys of small norm."""

    needs = ["keys"]
    name = "short_keys"

    def score(self, rows):
        return -np.sqrt((rows.keys.astype(np.float64) ** 2).sum(-1)).T


@kvlab.policy
class Seen:
    """Rows by how often each was among the better half; remembers that."""

    needs = ["newest"]
    options = {"decay": 0.9, "loud": False}

    def init(self, layer):
        return b""

    def counts(self, rows, state):
        known = dict(zip(*np.frombuffer(state, np.float64).reshape(2, -1))) if state else {}
        return {int(k): v for k, v in known.items()}

    def observe(self, rows, state):
        counts, better = self.counts(rows, state), rows.newest > np.median(rows.newest)
        now = {int(i): rows.options["decay"] * counts.get(int(i), 0.0) + b for i, b in zip(rows.ledger, better)}
        return np.array([list(now), list(now.values())], np.float64).tobytes()

    def score(self, rows, state):
        counts = self.counts(rows, state)
        return np.array([counts[int(i)] for i in rows.ledger])


def kept(policy, steps=6, **manifest):
    with kvlab.open("demo", policy=policy, **manifest) as s:
        s.prompt(STORY)
        s.step(steps)
        return [s.rows(one["layer"], kv_head=one.get("kvHead"))["ledger"] for one in s.policies()["layers"]], s.state_hash


class Rules(unittest.TestCase):
    def test_the_same_rule_keeps_the_same_rows(self):
        self.assertEqual(kept(f"heavy:{BANDS}")[0], kept(f"h2o:{BANDS}")[0])
        self.assertEqual(kept(f"short_keys:{BANDS}")[0], kept(f"knorm:heads=sum,{BANDS}")[0])
        by_head = dict(heads="each", sinks=2, window=6, budget=10)
        self.assertEqual(kept({"name": "heavy", **by_head})[0], kept({"name": "h2o", **by_head})[0])

    def test_options_reach_the_rule(self):
        self.assertNotEqual(kept(f"seen:{BANDS}")[1], kept(f"seen:{BANDS},decay=0.1")[1])
        with self.assertRaises(kvlab.Error) as caught:
            kvlab.open("demo", policy=f"seen:{BANDS},decay=much")
        self.assertIn("decay is not of the type of its default, 0.9", caught.exception.why)

    def test_every_policy_is_listed(self):
        names = {one["id"] for one in kvlab.lists("policies")}
        self.assertTrue({"heavy", "short_keys", "seen", "h2o"} <= names)

    def test_all_hold_what_policies_must_hold(self):
        for name in ("heavy", "short_keys", "seen"):
            for one in kvlab.check_policy(name):
                self.assertTrue(one["ok"], f"{name}: {one}")

    def test_a_rule_that_flips_coins_does_not_hold_it(self):
        coins = np.random.default_rng()

        @kvlab.policy
        class Coins:
            def score(self, rows):
                return coins.random(len(rows))

        found = {one["check"]: one["ok"] for one in kvlab.check_policy("coins")}
        self.assertFalse(found["repeats"])
        self.assertTrue(found["captures"])  # holds the decisions

    def test_lanes_and_batches(self):
        with kvlab.open("demo") as s:
            with s.lanes([{"policy": f"heavy:{BANDS}"}, {"policy": f"h2o:{BANDS}"}]) as lanes:
                lanes.prompt(STORY)
                lanes.step(4)
                self.assertEqual(lanes[1].rows(1)["ledger"], lanes[2].rows(1)["ledger"])
        with kvlab.open("demo", policy=f"seen:{BANDS}") as s, s.batch(2) as batch:
            batch.prompts([STORY, STORY])
            batch.step(3)
            self.assertEqual(batch[0].state_hash, batch[1].state_hash)


class Sweeps(unittest.TestCase):
    """Cells run on threads of their own, which ask the rules."""

    def spec(self, *policies):
        ratios = {"name": "budget", "budget": "ratio", "values": [0.25, 0.5]}
        return {"name": "own", "base": {"model": "demo"}, "seeds": [1], "measure": ["recall", "kl"],
                "axes": [{"name": "policy", "key": "policy", "values": list(policies)}, ratios],
                "prompts": [{"name": "short", "file": "resource:prompts/recall-256.json", "stories": 1, "questions": 2}]}

    def test_rules_beside_those_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            done = kvlab.sweep(self.spec("heavy:sinks=2,window=8", "h2o:sinks=2,window=8", "score"), out=os.path.join(folder, "own"), jobs=2)
            self.assertEqual((len(done), done.failed), (6, 0))
            self.assertEqual(done["kl_mean"][:2], done["kl_mean"][2:4])
            self.assertNotEqual(done["kl_mean"][:2], done["kl_mean"][4:])

    def test_another_rule_is_another_sweep(self):
        def add(power):
            kvlab.policy(type("Powers", (), {"score": rules[power]}))

        rules = {1: lambda self, rows: rows.age ** 1.0, 2: lambda self, rows: rows.age ** 2.0 + rows.layer}
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "own")
            add(1)
            kvlab.sweep(self.spec("powers"), out=out)
            self.assertEqual(kvlab.sweep(self.spec("powers"), out=out, resume=True).found, 2)
            add(2)
            with self.assertRaises(kvlab.Error) as caught:
                kvlab.sweep(self.spec("powers"), out=out, resume=True)
            self.assertEqual(caught.exception.code, "sweep_changed")
            self.assertIn("policies", caught.exception.why)

    def test_a_cell_whose_rule_fails_has_its_error(self):
        @kvlab.policy
        class Breaks:
            def score(self, rows):
                raise ValueError("no rule")

        with tempfile.TemporaryDirectory() as folder:
            done = kvlab.sweep(self.spec("breaks", "h2o"), out=os.path.join(folder, "own"), jobs=2)
            self.assertEqual((len(done), done.failed), (4, 2))


class Failures(unittest.TestCase):
    def fails(self, cls, what):
        kvlab.policy(cls)
        with kvlab.open("demo", policy=f"{cls.__name__.lower()}:{BANDS}") as s:
            before = s.state_hash
            with self.assertRaises(kvlab.Error) as caught:
                s.prompt(STORY)
            self.assertEqual(caught.exception.code, "bad_policy")
            self.assertIn(what, caught.exception.why)
            self.assertEqual(s.state_hash, before)
            s.settings(policy="full")
            self.assertTrue(s.prompt(STORY)["ok"])
        return caught.exception

    def test_exceptions_name_their_line(self):
        class Divides:
            def score(self, rows):
                return [1 / 0 for _ in range(len(rows))]

        self.assertIn("return [1 / 0 for", self.fails(Divides, "ZeroDivisionError").why)

    def test_wrong_answers_are_refused(self):
        class Few:
            def score(self, rows):
                return [1.0]

        class Words:
            def score(self, rows):
                return ["a"] * len(rows)

        class Nothing:
            def score(self, rows):
                return None

        class Textual:
            def observe(self, rows, state):
                return "text"

            def score(self, rows):
                return rows.age

        class Lacks:
            def score(self, rows):
                return rows.keys[:, 0, 0]

        class Leaves:
            def score(self, rows):
                raise SystemExit(3)

        self.fails(Few, "an array [1], not [")
        self.fails(Words, "ValueError")
        self.fails(Nothing, "")
        self.fails(Textual, "not bytes")
        self.fails(Lacks, "add 'keys' to the policy's needs")
        self.fails(Leaves, "SystemExit")

    def test_ctrl_c_in_a_rule_is_ctrl_c(self):
        @kvlab.policy
        class Endless:
            def score(self, rows):
                while True:
                    time.sleep(0.01)

        with kvlab.open("demo", policy=f"endless:{BANDS}") as s:
            before = s.state_hash
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            with self.assertRaises(KeyboardInterrupt):
                s.prompt(STORY)
            self.assertEqual(s.state_hash, before)
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            with self.assertRaises(KeyboardInterrupt):
                kvlab.check_policy(Endless)

    def test_a_failed_tick_raises(self):
        @kvlab.policy
        class Late:
            def score(self, rows):
                if rows.next_phase > 12:
                    raise ValueError("late")
                return rows.age

        with kvlab.open("demo", policy=f"late:{BANDS}") as s:
            s.prompt("Anna has")
            tick = s.tick
            for ticks in (s.step, s.run):
                with self.assertRaises(kvlab.Error) as caught:
                    ticks(200)
                self.assertIn("ValueError: late", caught.exception.why)
            self.assertGreater(s.tick, tick)
            self.assertEqual([one["ok"] for one in caught.exception.reports][-1], False)

    def test_a_policy_cannot_ask_a_session(self):
        asked = []

        @kvlab.policy
        class Asks:
            def score(self, rows):
                return [asked[0].tick] * len(rows)

        with kvlab.open("demo", policy=f"asks:{BANDS}") as s:
            asked.append(s)
            with self.assertRaises(kvlab.Error) as caught:
                s.prompt(STORY)
            self.assertIn("a rule asks", caught.exception.why)

    def test_what_cannot_be_added(self):
        def adds(**members):
            with self.assertRaises(kvlab.Error) as caught:
                kvlab.policy(type("Wrong", (), members))
            self.assertEqual(caught.exception.code, "bad_policy")
            return str(caught.exception)

        score = lambda self, rows: rows.age
        self.assertIn("no method score", adds())
        self.assertIn("the program has a policy of that name", adds(name="h2o", score=score))
        self.assertIn("received", adds(needs=["recieved"], score=score))
        self.assertIn("budget", adds(options={"budget": 3}, score=score))
        self.assertIn("options", adds(options=["a"], score=score))
        with self.assertRaisesRegex(kvlab.Error, "not a class"):
            kvlab.policy(score)
        with self.assertRaises(kvlab.Error):
            kvlab.check_policy("nobodys")

    def test_rows_stay_where_no_bands_are_given(self):
        for policy in ("heavy", "score:by=received/age"):
            with kvlab.open("demo", policy=policy) as s:
                s.prompt(STORY)
                self.assertEqual(len(s.rows(0)), len(s))


class Later(unittest.TestCase):
    def test_a_capture_needs_no_rule(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "seen.kvcap")
            with kvlab.open("demo", policy=f"seen:{BANDS}") as s:
                s.start_capture(path)
                s.prompt(STORY)
                s.step(5)
                expected = s.state_hash
                s.stop_capture()
            script = textwrap.dedent(f"""
                import kvlab
                s = kvlab.open_capture({path!r})
                print(s.state_hash)
                try:
                    s.step()
                except kvlab.Error as error:
                    print(error.code, error.why, [one["ok"] for one in error.reports])
                print(s.state_hash)
            """)
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=dict(os.environ))
            self.assertEqual(done.returncode, 0, done.stderr)
            first, refused, last = done.stdout.splitlines()
            self.assertEqual((first, last), (expected, expected))
            self.assertIn("bad_policy its rule is not in this program", refused)

    def test_without_the_rule_nothing_goes_on(self):
        """What the policy would have remembered of the tick is not known."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "seen.kvcap")
            with kvlab.open("demo", policy=f"seen:{BANDS}") as s:
                s.prompt("Anna has")
                s.save_capture(path)
            script = f"import kvlab; s = kvlab.open_capture({path!r}); s.prompt(' a ball')"
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=dict(os.environ))
            self.assertIn("the policy seen was not asked", done.stderr)

    def test_adding_again_takes_the_new_rule(self):
        def add(sign):
            @kvlab.policy
            class Turns:
                def score(self, rows):
                    return sign * rows.age

        add(1)
        with kvlab.open("demo", policy="turns:budget=4,window=2") as s:
            s.prompt(STORY)
            first = s.rows(0)["ledger"]
            add(-1)
            s.undo()
            s.redo()
            self.assertEqual(s.rows(0)["ledger"], first)
            s.undo()
            s.prompt(STORY)
            self.assertNotEqual(s.rows(0)["ledger"], first)


@unittest.skipUnless(os.environ.get("KVLAB"), "KVLAB names no program")
class Program(unittest.TestCase):
    """The program asks a Python beside itself."""

    MODULE = """
        import kvlab
        print("a policy may print")

        @kvlab.policy
        class Outside:
            "Rows that have received most attention; counts its passes."
            needs = ["received"]
            options = {"fails": False}

            def observe(self, rows, state):
                return bytes([(state or b"\\0")[0] + 1])

            def score(self, rows, state):
                if rows.options["fails"] and state[0] > 2:
                    raise RuntimeError("two passes are enough")
                return rows.received
    """
    SCRIPT = """
        const s = lab.open({});
        s.prompt("%s");
        const reports = s.step(6);
        if (!reports.every(one => one.ok)) throw new Error(reports[reports.length - 1].error.why);
        log("rows " + JSON.stringify(s.rows(1).map(row => row.ledger)));
    """ % STORY

    def run_program(self, *options, module=MODULE, python=sys.executable):
        with tempfile.TemporaryDirectory() as folder:
            file, script = pathlib.Path(folder, "own.py"), pathlib.Path(folder, "s.js")
            file.write_text(textwrap.dedent(module))
            script.write_text(textwrap.dedent(self.SCRIPT))
            environment = {**os.environ, "KVLAB_PYTHON": python}
            words = [os.environ["KVLAB"], "run", str(script), "--policy-module", str(file), *options]
            done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=100)
            return done.returncode, done.stdout + done.stderr

    def test_a_file_of_policies(self):
        code, said = self.run_program("--policy", f"outside:{BANDS}")
        self.assertEqual(code, 0, said)
        self.assertIn(f"rows {str(kept('h2o:' + BANDS)[0][1]).replace(' ', '')}", said)

    def test_what_fails_is_said(self):
        for module, python, why in (
            ("x = 1", sys.executable, "it has none"),
            ("x = 1 +", sys.executable, "SyntaxError"),
            ("import sys; sys.exit(4)", sys.executable, "SystemExit: 4"),
            (self.MODULE, "/nowhere/python3", "No such file"),
            (self.MODULE, "/bin/false", "it needs the package kvlab"),
        ):
            code, said = self.run_program(module=module, python=python)
            self.assertNotEqual(code, 0, module)
            self.assertIn(why, said)
        code, said = self.run_program("--policy", f"outside:{BANDS},fails=true")
        self.assertNotEqual(code, 0)
        self.assertIn("RuntimeError: two passes are enough", said)


if __name__ == "__main__":
    unittest.main()
