# SPDX-License-Identifier: Apache-2.0
"""kvlab.vllm in a running vLLM on the CPU: the rows that its connector writes are those of the model.

    V/bin/python connector_test.py        V: an environment with requirements.txt

The built package must be on the path. Exit status 77 where a package is missing."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")

try:
    import numpy as np
    import torch
    import transformers
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer, models
    from vllm import LLM, SamplingParams

    import kvlab
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

CONNECTOR = {"kv_connector": "KvlabConnector", "kv_connector_module_path": "kvlab.vllm", "kv_role": "kv_both"}
IDS = [(7 * i + 3) % 509 + 2 for i in range(70)]


def make_model(folder, words):
    """A Llama of four layers with seeded weights; in a folder of its own a tokenizer, which vLLM's server wants."""
    torch.manual_seed(7)
    config = transformers.LlamaConfig(hidden_size=128, intermediate_size=256, num_hidden_layers=4,
                                      num_attention_heads=4, num_key_value_heads=2, head_dim=32, vocab_size=512,
                                      max_position_embeddings=512, tie_word_embeddings=False, dtype="float32")
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    config.save_pretrained(words)
    tokenizer = Tokenizer(models.WordLevel({f"w{i}": i for i in range(512)}, unk_token="w0"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="w2").save_pretrained(words)


def settings(path):
    return {**CONNECTOR, "kv_connector_extra_config": {"path": str(path)}}


def waited(found, seconds):
    """What `found` gives, as soon as that is true."""
    until = time.monotonic() + seconds
    while not (value := found()) and time.monotonic() < until:
        time.sleep(0.1)
    return value


def read_rows(folder):
    """What kvlab.json says, and (keys, values) of each layer, [rows, heads, head_dim], keys as vLLM's CPU back end lays
    them: [head_dim, rows] in each block and head."""
    said = json.loads((folder / "kvlab.json").read_text())
    block, count, out = said["block_size"], said["rows"], []
    for layer in said["layers"]:
        tensors = load_file(folder / f"{layer['name']}.safetensors")
        assert tensors["input_ids"].tolist() == said["ids"]
        assert tensors["positions"].tolist() == [*range(count), *[-1] * (-count % block)]
        keys, values = np.split(tensors["kv_cache"], 2, axis=2)
        _, heads, dim = keys.shape
        keys = keys.reshape(-1, block, heads, dim).transpose(0, 2, 1, 3).reshape(-1, heads, dim, block)
        out.append((keys.transpose(0, 3, 1, 2).reshape(-1, heads, dim)[:count], values[:count]))
    return said, out


def worst(theirs, ours):
    """The greatest relative L2 difference of a head of a row."""
    return float((np.linalg.norm(theirs - ours, axis=2) / np.linalg.norm(ours, axis=2)).max())


class Connector(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.model = os.path.join(cls.scratch.name, "model")
        cls.words = os.path.join(cls.scratch.name, "words")
        make_model(cls.model, cls.words)
        cls.rows = pathlib.Path(cls.scratch.name, "rows")
        cls.llm = LLM(cls.model, tokenizer=cls.words, dtype="float32", max_model_len=256, block_size=32,
                      enforce_eager=True, kv_transfer_config=settings(cls.rows))

    def generated(self, *prompts, tokens=9):
        """Folders of the requests, in their order."""
        before = set(self.rows.glob("*"))
        self.llm.generate([{"prompt_token_ids": ids} for ids in prompts],
                          SamplingParams(max_tokens=tokens, temperature=0, ignore_eos=True, detokenize=False))
        whole = lambda: {one for one in self.rows.glob("*") if one.suffix != ".part"} - before
        made = waited(lambda: len(whole()) == len(prompts) and whole(), 20)  # a moment after the answer
        self.assertTrue(made)
        return sorted(made, key=lambda one: int(json.loads((one / "kvlab.json").read_text())["request"].split("-")[0]))

    def check(self, folder, prompt, tokens=9):
        said, rows = read_rows(folder)
        self.assertEqual(said["rows"], len(prompt) + tokens - 1)  # the last token has no row yet
        self.assertEqual(said["ids"][: len(prompt)], prompt)
        with kvlab.open(self.model) as session:
            session.prompt_ids(said["ids"])
            for layer, (keys, values) in enumerate(rows):
                k, v = session.rows_array(layer, rotated=True)
                for theirs, ours in ((keys, k), (values, v)):
                    self.assertLessEqual(float(np.linalg.norm(theirs - ours) / np.linalg.norm(ours)), 1e-6)
                    self.assertLessEqual(worst(theirs, ours), 4e-6)
        return said

    def test_rows_of_a_request_are_those_of_the_model(self):
        (folder,) = self.generated(IDS)
        said = self.check(folder, IDS)
        self.assertEqual((said["block_size"], said["backend"]), (32, "CPU_ATTN"))
        self.assertEqual([one["layer"] for one in said["layers"]], [0, 1, 2, 3])
        self.assertEqual(said["cached"], 0)

    def test_requests_together_and_a_shared_beginning(self):
        first = [5 + i % 400 for i in range(100)]
        prompts = [first[:80] + [7, 8, 9], first[:64] + [11, 12], list(reversed(first))]
        for folder, prompt in zip(self.generated(*prompts), prompts):
            self.check(folder, prompt)
        (again,) = self.generated(prompts[0])
        self.assertGreaterEqual(self.check(again, prompts[0])["cached"], 64)

    def explain(self, folder):
        """The cache is the model's, read as vLLM's back end writes it."""
        found = kvlab.compare(folder, self.model)
        causes = [(one["kind"], one["parameters"].get("usual")) for one in found.causes]
        self.assertEqual((found.outcome, causes), ("equal", [("head_transpose", True)]), found.verdict)
        self.assertLessEqual(max(found.to_dict()["left"][side] for side in ("keys", "values")), 1e-6)
        print(f" {found.verdict}", file=sys.stderr)

    def test_the_search_names_the_layout(self):
        (folder,) = self.generated([9 + i % 300 for i in range(60)])
        self.explain(folder)

    def test_a_server_names_the_folder(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        rows = self.rows.with_name("served")
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", self.model,
                   "--tokenizer", self.words, "--dtype", "float32", "--max-model-len", "256", "--block-size", "32",
                   "--enforce-eager", "--host", "127.0.0.1", "--port", str(port), "--kv-transfer-config",
                   json.dumps(settings(rows))]
        with open(self.rows.with_name("server.log"), "w+") as log, \
                subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True) as server:
            self.addCleanup(log.close)
            try:
                asked = json.dumps({"model": self.model, "prompt": IDS, "max_tokens": 9, "temperature": 0,
                                    "ignore_eos": True}).encode()
                answer = waited(lambda: asked_of(port, asked, server), 300)
                self.assertTrue(answer, pathlib.Path(log.name).read_text()[-3000:])
                folder = pathlib.Path(answer["kv_transfer_params"]["kvlab"])
                self.assertTrue(waited(folder.exists, 20))
            finally:
                server.terminate()
        self.assertEqual(folder.parent, rows)
        self.check(folder, IDS)
        self.explain(folder)


def asked_of(port, body, server):
    """The server's answer; None as long as it does not listen."""
    if server.poll() is not None:
        raise RuntimeError("the server has ended")
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", body,
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise RuntimeError(error.read().decode()) from error
    except (urllib.error.URLError, ConnectionError):
        return None


if __name__ == "__main__":
    unittest.main()
