# SPDX-License-Identifier: Apache-2.0
"""Runs the notebooks of resources/notebooks: on small models, or with `real` on those that they name. Exit status 77
where a package is missing. They are committed without outputs."""
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

try:
    import nbformat
    from nbclient import NotebookClient

    import kvlab  # the kernel of the notebooks needs it
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "resources" / "notebooks"
REAL = "real" in sys.argv


def installed(*names):
    return all(importlib.util.find_spec(name) for name in names)


def run(name, folder, **values):
    """Executes a notebook with other values of the names that its first code cell sets."""
    book = nbformat.read(FOLDER / name, as_version=4)
    first = next(cell for cell in book.cells if cell.cell_type == "code")
    for key, value in values.items():
        if f"{key} = " not in first.source:
            raise KeyError(f"{name} sets no {key}")
    first.source += "".join(f"\n{key} = {value!r}" for key, value in values.items())
    NotebookClient(book, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    return book


def hf_folder(folder):
    """A model as Hugging Face keeps it: a small one with a tokenizer of letters, or SmolLM2 from its GGUF file."""
    import transformers

    if REAL:
        data = pathlib.Path(os.environ["XDG_DATA_HOME"]) / "kvlab" / "models" / "smollm2-135m"
        file = next(data.glob("*.gguf")).name
        transformers.AutoTokenizer.from_pretrained(data, gguf_file=file).save_pretrained(folder)
        read = transformers.AutoModelForCausalLM.from_pretrained(data, gguf_file=file)
        keys = {name: value for name, value in read.config.to_dict().items() if name != "quantization_config"}
        plain = type(read)(type(read.config)(**keys))
        plain.load_state_dict(read.state_dict())
        plain.save_pretrained(folder)
        return folder
    import tokenizers

    for file in (ROOT / "tests" / "oracle" / "models" / "llama_tied_f32").glob("*"):
        shutil.copy(file, folder)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.\u0120"
    made = tokenizers.Tokenizer(tokenizers.models.BPE({one: number for number, one in enumerate(letters)}, []))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=made).save_pretrained(folder)
    return folder


class Notebooks(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_they_have_no_outputs(self):
        for path in FOLDER.glob("*.ipynb"):
            for cell in nbformat.read(path, as_version=4).cells:
                self.assertFalse(cell.get("outputs") or cell.get("execution_count"), path.name)

    def test_first_edit(self):
        run("first-edit.ipynb", self.folder, **({} if REAL else {
            "MODEL": "demo", "PROMPT": "Anna has a red ball . Tom has a lamp . Where is the"}))

    def test_my_own_policy(self):
        run("my-own-policy.ipynb", self.folder, RATIOS=[0.25], STORIES=1)
        self.assertIn("distinct", (self.folder / "my-own-policy.svg").read_text())

    @unittest.skipUnless(installed("torch", "transformers"), "torch and transformers are not installed")
    def test_my_models_cache(self):
        model = self.folder / "model"
        model.mkdir()
        run("my-models-cache.ipynb", self.folder, MODEL=str(hf_folder(model)))


if __name__ == "__main__":
    unittest.main(argv=[one for one in sys.argv if one != "real"])
