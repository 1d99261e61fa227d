# SPDX-License-Identifier: Apache-2.0
"""kvlab mcp, driven over standard input and output by the client of the package mcp."""
import base64
import json
import os
import pathlib
import sys
import tempfile
import unittest

try:
    import anyio
    from mcp import Client, StdioServerParameters

    import kvlab
    from kvlab.mcp import INPUTS
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

COMMAND = "import sys; from kvlab._command import main; sys.exit(main())"  # as the console script kvlab
STORY = "Anna has a red ball . Tom has a lamp . Where is the"


class Mcp(unittest.TestCase):
    def drive(self, work):
        async def run():
            place = StdioServerParameters(command=sys.executable, args=["-c", COMMAND, "mcp"], env=dict(os.environ))
            async with Client(place) as client:
                async def ask(name, **args):
                    answer = await client.call_tool(name, args)
                    said = answer.content[0]
                    if said.type == "image":
                        return bool(answer.is_error), base64.b64decode(said.data)
                    return bool(answer.is_error), json.loads(said.text)

                await work(client, ask)

        anyio.run(run)

    def test_ten_tools_with_schemas(self):
        async def work(client, ask):
            tools = {one.name: one for one in (await client.list_tools()).tools}
            self.assertEqual((list(tools), len(tools)), (list(INPUTS), 10))
            verbs = {one["id"]: one for one in kvlab.lists("verbs")}
            for name, verb in (("run_back", "runBack"), ("difference", "difference")):
                self.assertEqual(tools[name].description, verbs[verb]["title"])
                own = set(tools[name].input_schema["properties"]) - {"session"}
                self.assertEqual(own, {one["name"] for one in verbs[verb]["args"]})
            for one in tools.values():
                self.assertTrue(one.description and one.input_schema["type"] == "object", one.name)

        self.drive(work)

    def test_a_session_with_an_edit(self):
        async def work(client, ask):
            failed, said = await ask("prompt", text=STORY)
            self.assertTrue(failed and said["code"] == "unknown_session" and said["remedy"])
            failed, opened = await ask("open", manifest={"policy": "h2o:budget=64"})
            self.assertEqual((failed, opened["session"], opened["length"]), (False, "s1", 0))
            _, said = await ask("prompt", text=STORY, steps=4)
            self.assertEqual((said["tick"], said["took"] - 4), (5, said["length"] - 4))
            length = said["length"]
            failed, said = await ask("edit", args={"actions": [{"action": "delete", "position": 2}], "now": True})
            self.assertEqual((failed, said["length"]), (False, length - 1))
            failed, said = await ask("edit", args={"actions": [{"action": "delete", "position": 999}], "now": True})
            self.assertTrue(failed and said["code"] and said["remedy"])
            _, said = await ask("difference", tick=5)
            self.assertEqual(said["onlyThen"], [2])
            self.assertRegex(said["layers"][0]["changed"][-1], "and [0-9]+ more")
            _, said = await ask("row_history", ledger=2)
            self.assertIn("deleted", [one["event"] for one in said["rows"]])
            _, said = await ask("run_back", condition=f"length == {length}")
            self.assertEqual((said["tick"], said["length"]), (5, length))
            _, said = await ask("compare", changes=[{"kv": {"k": "int8", "v": "int8"}}], steps=3)
            self.assertEqual(len(said["lanes"]), 2)
            for wrong in ({"steps": 1, "nothing": 1}, {"steps": "many"}):
                failed, said = await ask("prompt", **wrong)
                self.assertTrue(failed and said["code"], wrong)
            failed, said = await ask("nothing")
            self.assertTrue(failed)

        self.drive(work)

    def test_a_planted_bug_is_found_and_explained(self):
        async def work(client, ask):
            await ask("open", manifest={"faults": True})
            await ask("prompt", text=STORY)
            _, said = await ask("explain")
            self.assertEqual((said["broken"], said["findings"]), ([], []))
            failed, _ = await ask("edit", verb="bug", args={"name": "zeroed_rows"})
            self.assertFalse(failed)
            await ask("prompt", steps=60)
            _, said = await ask("explain")
            self.assertEqual(said["findings"][0]["invariant"], "exact_rows")
            self.assertEqual(said["row"]["ledger"], said["findings"][0]["ledger"])
            self.assertEqual(said["row"]["story"][0]["event"], "computed")
            written = said["row"]["story"][0]["tick"]
            self.assertIn(written, [one["tick"] for one in said["commits"]])
            _, said = await ask("run_back", condition=f"written(ledger=={said['row']['ledger']}, layer==0)")
            self.assertEqual(said["tick"], written)

        self.drive(work)

    def test_a_picture(self):
        """Of the program that KVLAB names; without one the call says how to get it."""
        async def work(client, ask):
            await ask("open")
            await ask("prompt", text=STORY)
            failed, said = await ask("picture")
            if "KVLAB" in os.environ:
                self.assertTrue(not failed and said.startswith(b"\x89PNG"), said)
            elif failed:
                self.assertEqual(said["code"], "unsupported")
            failed, said = await ask("picture", view="nothing")
            self.assertTrue(failed and said["code"])

        self.drive(work)

    def test_a_sweep(self):
        async def work(client, ask):
            prompts = [{"name": "short", "file": "resource:prompts/recall-256.json", "stories": 1, "questions": 1}]
            spec = {"base": {"model": "demo"}, "axes": [{"name": "policy", "key": "policy", "values": ["full"]}],
                    "prompts": prompts, "measure": ["recall"]}
            with tempfile.TemporaryDirectory() as folder:
                failed, said = await ask("sweep", spec=spec, out=str(pathlib.Path(folder) / "one"))
                self.assertEqual((failed, said["cells"], said["failed"], len(said["summary"])), (False, 1, 0, 1), said)

        self.drive(work)


if __name__ == "__main__":
    unittest.main()
