# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a cache: rows that any program made, against those that the model gives, and the cause by name."""
import html
import json
import os
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._errors import Error, checked
from ._progress import progress
from ._table import Columns

#: Types of values by their names in NumPy, PyTorch and JAX: the name in kvlab, and integers of the same size.
TYPES = {"float32": ("f32", None), "float64": ("f64", None), "float16": ("f16", None), "bfloat16": ("bf16", "int16"),
         "float8_e4m3fn": ("fp8-e4m3", "uint8")}
DIMENSIONS = ("heads", "rows", "dim")


def _refused(why, remedy, field="cache"):
    return Error("bad_argument", "the cache was not compared", why, remedy, field=field)


class Comparison:
    """What was found about a cache.

    outcome: "equal" (every row is the model's, up to the rounding of its type), "explained" (causes are named, and what
    they leave over is rounding) or "unexplained". verdict says it in a sentence. Notebooks show the report."""

    def __init__(self, found: Any, cache: str, model: str) -> None:
        self._found, self._cache, self._model = found, cache, model
        self._answer = found.answer()

    @property
    def outcome(self) -> str:
        return self._answer["outcome"]

    @property
    def verdict(self) -> str:
        return self._answer["verdict"]

    @property
    def causes(self) -> list[dict[str, Any]]:
        """The smallest explanation: kind, parameters and text of each cause, and what would be left without it."""
        return self._answer["causes"]

    @property
    def rivals(self) -> list[dict[str, Any]]:
        """Other explanations that were tried, the best first, with what each leaves over."""
        return self._answer["rivals"]

    @property
    def begins(self) -> dict[str, Any] | None:
        """The first row, in the order of computation, that rounding does not account for: side, layer, head, row and
        token. Where the causes leave nothing, the first one before them."""
        return self._answer.get("begins")

    @property
    def left(self) -> Columns:
        """What the causes leave over, a line for each layer, row and head: relative L2 of keys and values, and how much
        of it rounding accounts for. A table for pyarrow, polars, DuckDB and pandas."""
        return Columns(self._found.left())

    @property
    def layers(self) -> list[int]:
        """Numbers of the layers that were compared."""
        return list(self._found.layers)

    def rows(self, layer: int) -> dict[str, np.ndarray]:
        """Keys and values of a layer, each [rows, heads, head_dim]: their_keys as the cache has them once its layout is
        understood, exact_keys as the model gives them with the causes that are none of layout, typed_keys the same in
        the type of the cache, and their_values and so on."""
        if layer not in self.layers:
            raise IndexError(f"layer {layer} is none of {self.layers}")
        return _core.compared_rows(self._found, self.layers.index(layer))

    def to_dict(self) -> dict[str, Any]:
        """Everything but rows, as `kvlab compare --json` prints it."""
        return self._answer

    def html(self) -> str:
        """The report: one page without scripts."""
        return self._found.html(self._cache, self._model).decode("utf-8", "replace")

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as a file, to attach to an issue."""
        pathlib.Path(path).write_text(self.html(), encoding="utf-8")

    def __str__(self) -> str:
        return self._found.text()

    def __repr__(self) -> str:
        return f"<kvlab.Comparison {self.outcome}: {self.verdict}>"

    def _repr_html_(self) -> str:
        return (f'<iframe style="width:100%;height:620px;border:0" sandbox title="{html.escape(self.verdict)}" '
                f'srcdoc="{html.escape(self.html())}"></iframe>')


def compare(cache: Any, model: Any, ids: Any = None, *, before: Any = None, axes: str | None = None,
            positions: Any = None, sequence: int = -1, importer: str | None = None,
            mapping: Mapping[str, Any] | str | os.PathLike[str] | None = None, engine: bool = True,
            **manifest: Any) -> Comparison:
    """Compares a cache with what a model gives for the same tokens, and names the cause of the difference.

    cache: a file or folder that a program wrote (`importer` and `mapping` as `kvlab compare` takes them); a live cache
    of transformers; or (keys, values) of each layer, arrays of NumPy, PyTorch or anything with DLPack, [heads, rows,
    dim], [1, heads, rows, dim] or [rows, width]; or a dict of named arrays, whose `mapping` tells what they are. Arrays
    are read where they lie; the rounding of float16, bfloat16 and float8_e4m3fn is taken into account.
    model: as kvlab.open() takes it, or a model of transformers that was loaded from a folder.
    ids: the tokens of the cache; a file may have its own. before: those before the last edit of the cache.
    axes: the order of dimensions, as "rows heads dim". positions: of the rows that keys are rotated to, a list for all
    layers or one for each, where they are known. sequence: of several in a file or a batch. engine=False leaves out the
    hypotheses that run faults of attention in this engine. manifest: further keys of kvlab.open().
    Refusals are kvlab.Error; Ctrl+C ends the search."""
    from . import resources

    name, manifest = _model(model, manifest)
    ask = {"manifest": {"model": name, **manifest}, "ids": _ids(ids), "before": _ids(before), "engine": engine}
    with progress("compare") as told:
        if isinstance(cache, Mapping):
            if mapping is None:
                raise _refused("nothing tells what the arrays of the dict are", "give mapping=", "mapping")
            return _mapped(cache, mapping, ask, name, told)
        if isinstance(cache, (str, os.PathLike)):
            how = {"importer": importer or "", "sequence": sequence, "mapping": os.fspath(mapping or "")}
            found = _core.compare_file(os.fspath(cache), how, ask, str(resources()), told)
            return Comparison(checked(found), os.fspath(cache), name)
        layers, notes = _layers(cache, axes, positions, sequence)
        known = not any(flat for *_, flat in layers)
        found = _core.compare_arrays([one[:5] for one in layers], known, notes, ask, str(resources()), told)
        return Comparison(checked(found), f"a {type(cache).__name__} in memory", name)


def _model(model, manifest):
    """(name or folder, keys of the manifest)"""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), manifest
    from ._hf_model import dtype_of, folder_of

    return folder_of(model, None), {"dtype": dtype_of(model), **manifest}


def _ids(ids):
    if ids is None:
        return []
    flat = np.asarray(_host(ids)).squeeze()
    if flat.ndim > 1 or not np.issubdtype(flat.dtype, np.integer):
        raise _refused(f"{flat.dtype} of shape {flat.shape} are no token ids", "give the ids of one sequence", "ids")
    return flat.reshape(-1).tolist()


def _host(array):
    """An array of PyTorch in the memory of the host; others as they are."""
    return array.detach().cpu() if hasattr(array, "detach") else array


def _array(array, where):
    """(array of NumPy, name of its type in kvlab). Nothing is copied that lies in the memory of the host."""
    array = _host(array)
    name = str(getattr(array, "dtype", "")).rpartition(".")[2]
    if name not in TYPES:
        raise _refused(f"{where} is a {type(array).__name__} of {name or 'no type'}",
                       f"give {', '.join(TYPES)}; undo codes and their scales first")
    ours, bits = TYPES[name]
    if bits and hasattr(array, "detach"):
        import torch

        array = array.view(getattr(torch, bits))
    elif bits:
        array = np.asarray(array).view(bits)
    try:
        return (array if isinstance(array, np.ndarray) else np.from_dlpack(array)), ours
    except (AttributeError, TypeError):
        return np.asarray(array), ours


def _ordered(array, axes, sequence, where):
    """(view [heads, rows, dim], whether nothing tells the heads)."""
    if axes is not None:
        words = axes.split()
        if sorted(words) != sorted(DIMENSIONS[3 - len(words):]) or len(words) != array.ndim:
            raise _refused(f"axes are {axes!r}, and {where} has {array.ndim} dimensions",
                           "give heads, rows and dim in their order, or rows and dim", "axes")
        array = array.transpose([words.index(one) for one in DIMENSIONS if one in words])
    elif array.ndim == 4:
        if array.shape[0] > 1 and sequence < 0:
            raise _refused(f"{where} has {array.shape[0]} sequences", "name one: sequence=0", "sequence")
        if sequence >= array.shape[0]:
            raise _refused(f"{where} has {array.shape[0]} sequences", "give one of them", "sequence")
        array = array[max(0, sequence)]
    if array.ndim == 2:
        return array[None], True
    if array.ndim != 3:
        raise _refused(f"{where} has {array.ndim} dimensions",
                       "give [heads, rows, dim], [1, heads, rows, dim] or [rows, width]")
    return array, False


def _layers(cache, axes, positions, sequence):
    """Layers for the extension module, (number, keys, values, type, positions, flat), and notes for people."""
    notes, pairs = [], []
    if hasattr(cache, "layers"):
        pairs, notes = _of_transformers(cache)
    elif isinstance(cache, Sequence):
        if any(not isinstance(one, Sequence) or len(one) != 2 for one in cache):
            raise _refused("a layer is no pair of keys and values", "give (keys, values) of each layer")
        pairs = [(number, *one, []) for number, one in enumerate(cache)]
    else:
        raise _refused(f"a {type(cache).__name__} is no cache", "give a file, a cache of transformers, (keys, values) "
                       "of each layer, or a dict of arrays with mapping=")
    if not pairs:
        raise _refused(f"the {type(cache).__name__} holds no rows", "fill it first")
    each = positions is not None and len(positions) and np.ndim(positions[0]) > 0
    out = []
    for place, (number, keys, values, own) in enumerate(pairs):
        where = f"layer {number}"
        (keys, type_of_keys), (values, type_of_values) = _array(keys, where), _array(values, where)
        if type_of_keys != type_of_values:
            raise _refused(f"{where} has keys of {type_of_keys}, values of {type_of_values}", "give both in one type")
        (keys, flat), (values, _) = _ordered(keys, axes, sequence, where), _ordered(values, axes, sequence, where)
        if positions is not None:
            own = _ids(positions[place] if each else positions)
        out.append((number, keys, values, type_of_keys, own, flat))
    return out, notes


def _of_transformers(cache):
    """(number, keys, values, positions) of the layers of a cache of transformers 5, and notes for people."""
    if hasattr(cache, "kvlab"):
        raise _refused("it is one of kvlab.hf.cache", "ask its session: cache.kvlab.session")
    pairs, notes = [], []
    for number, layer in enumerate(cache.layers):
        if hasattr(layer, "_quantized_keys"):
            raise _refused(f"layer {number} holds codes ({type(layer).__name__})",
                           "give (keys, values) of each layer, dequantised")
        keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
        if keys is None or not keys.numel():
            notes.append(f"layer {number} ({type(layer).__name__}) holds no keys and values, and was passed over")
            continue
        seen, held, positions = int(layer.get_seq_length()), keys.shape[-2], []
        if seen < held:  # room of a cache of fixed size
            keys, values = keys[..., :seen, :], values[..., :seen, :]
        elif getattr(layer, "is_sliding", False):
            positions = list(range(seen - held, seen))
        pairs.append((number, keys, values, positions))
    return pairs, notes


def _mapped(arrays, mapping, ask, model, told):
    """Named arrays through the importer of arrays, which reads files: the mapping means the same there and here."""
    from . import resources

    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        path = pathlib.Path(folder) / "arrays.safetensors"
        _write_safetensors(path, arrays)
        if isinstance(mapping, Mapping):
            (pathlib.Path(folder) / "mapping.json").write_text(json.dumps(mapping))
            mapping = pathlib.Path(folder) / "mapping.json"
        how = {"importer": "arrays", "sequence": -1, "mapping": os.fspath(mapping)}
        found = _core.compare_file(str(path), how, ask, str(resources()), told)
        return Comparison(checked(found), f"a dict of {len(arrays)} arrays", model)


def _write_safetensors(path, arrays):
    names = {"f32": "F32", "f64": "F64", "f16": "F16", "bf16": "BF16", "fp8-e4m3": "F8_E4M3"}
    head, parts, at = {}, [], 0
    for name, array in arrays.items():
        values, type_of_values = _array(array, name)
        values = np.ascontiguousarray(values)
        head[name] = {"dtype": names[type_of_values], "shape": list(values.shape),
                      "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
        parts.append(values)
    said = json.dumps(head).encode()
    said += b" " * (-len(said) % 8)
    with open(path, "wb") as file:
        file.write(len(said).to_bytes(8, "little") + said)
        for values in parts:
            file.write(values.data if values.size else b"")
