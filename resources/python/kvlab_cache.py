# SPDX-License-Identifier: Apache-2.0
"""Key-value caches in and out of files that kvlab reads and writes.

    from kvlab_cache import save_cache, load_cache
    save_cache("prompt.safetensors", outputs.past_key_values, input_ids, model.config)
    cache, input_ids, manifest = load_cache("edited.safetensors")

Needs torch and safetensors; transformers only to build a DynamicCache. Nothing is ever pickled.

File: one safetensors file with `past_key_values.{layer}.key` and `.value`, each [1, kv_heads, seq, head_dim],
keys rotated as Hugging Face stores them, in float32, float16 or bfloat16. The metadata entry "kvlab" is JSON:
    {"format": "kvlab-cache", "version": 1, "form": "hf_dynamic" | "hf_tuple" | "native",
     "model": {"model_type", "num_hidden_layers", "num_key_value_heads", "head_dim", "rope_theta"},
     "input_ids": [seq], "position_ids": [seq], "dtype": "float32"}
Where layers lack rows, as after an eviction, "rows" lists the indices of the input_ids that each layer holds, and the
layers of the cache have unequal lengths.
position_ids are the rotary positions of the rows, strictly increasing; after an edit that leaves gaps the next
token goes to `next_position(manifest)`, which is then more than the length.

Every refusal is a ValueError that says what is wrong and what to do about it.
"""
import json
import math
import os
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

FORMS = ("hf_dynamic", "hf_tuple")
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
MODEL_SIZES = ("num_hidden_layers", "num_key_value_heads", "head_dim")


def save_cache(path, past_key_values, input_ids, model_config, form="hf_dynamic", position_ids=None, rows=None):
    """Writes a cache of one sequence. `past_key_values` is a DynamicCache of transformers 4 or 5 or a legacy tuple
    ((key, value), ...); `input_ids` are the tokens whose rows it holds, [seq] or [1, seq]; `position_ids` their
    rotary positions, 0.. when left out. `rows`, for layers of unequal length: for each layer the ascending indices of
    the input_ids whose rows it holds. `model_config` is the model's config or a dict with the same fields."""
    if form not in FORMS:
        raise ValueError(f"form is {form!r}; use one of {', '.join(FORMS)} (native files are written by kvlab only)")
    layers = to_legacy(past_key_values)
    ids = _integers("input_ids", input_ids)
    positions = list(range(len(ids))) if position_ids is None else _integers("position_ids", position_ids)
    model = _describe_model(model_config)
    dtype = _dtype_name(layers[0][0])
    manifest = {"format": "kvlab-cache", "version": 1, "form": form, "model": model, "input_ids": ids,
                "position_ids": positions, "dtype": dtype}
    if rows is not None:
        manifest["rows"] = [_integers("rows", one) if len(one) else [] for one in rows]
    _check_manifest(manifest, "save_cache")
    _check_layers(layers, manifest, "save_cache")
    tensors = {}
    for number, (key, value) in enumerate(layers):
        tensors[f"past_key_values.{number}.key"] = key.detach().to("cpu").contiguous()
        tensors[f"past_key_values.{number}.value"] = value.detach().to("cpu").contiguous()
    _write_whole(Path(path), save(tensors, metadata={"kvlab": json.dumps(manifest)}))


def load_cache(path):
    """-> (cache, input_ids [1, seq] int64, manifest). The cache is a DynamicCache for a file of form hf_dynamic and
    a tuple of (key, value) for hf_tuple; `to_dynamic_cache` and `to_legacy` turn one into the other."""
    where = str(path)
    try:
        with safe_open(where, framework="pt") as file:
            manifest = _read_manifest(file.metadata(), where)
            layers = _read_layers(file, manifest, where)
    except SafetensorError as error:
        raise ValueError(f"{where}: not a readable safetensors file ({error}); save the cache again") from error
    _check_layers(layers, manifest, where)
    cache = to_dynamic_cache(layers) if manifest["form"] == "hf_dynamic" else layers
    return cache, torch.tensor([manifest["input_ids"]], dtype=torch.int64), manifest


def to_legacy(past_key_values):
    """((key, value), ...) of a DynamicCache of any transformers version, or of a legacy tuple."""
    if hasattr(past_key_values, "layers"):
        pairs = [(layer.keys, layer.values) for layer in past_key_values.layers]
    elif hasattr(past_key_values, "key_cache"):
        pairs = list(zip(past_key_values.key_cache, past_key_values.value_cache))
    elif isinstance(past_key_values, (tuple, list)):
        pairs = [entry[:2] if isinstance(entry, (tuple, list)) else (None, None) for entry in past_key_values]
    else:
        raise ValueError(f"past_key_values is a {type(past_key_values).__name__}; pass a DynamicCache or a tuple of "
                         "(key, value) per layer")
    if not pairs:
        raise ValueError("past_key_values has no layers; run the model once with use_cache=True first")
    for number, pair in enumerate(pairs):
        if len(pair) != 2 or not all(isinstance(t, torch.Tensor) for t in pair):
            raise ValueError(f"past_key_values: layer {number} is not a pair of tensors; run the model once with "
                             "use_cache=True first")
    return tuple(tuple(pair) for pair in pairs)


def to_dynamic_cache(layers):
    """A DynamicCache that holds every row of `layers`, without a window of its own: the model's mask applies it."""
    try:
        from transformers import DynamicCache
    except ImportError as error:
        raise ValueError("a DynamicCache needs transformers; install it, or save with form hf_tuple") from error
    cache = DynamicCache()
    for number, (key, value) in enumerate(layers):
        cache.update(key, value, number)
    return cache


def next_position(manifest):
    """Rotary position of the token that follows the cached rows."""
    return manifest["position_ids"][-1] + 1


def _read_manifest(metadata, where):
    text = (metadata or {}).get("kvlab")
    if text is None:
        raise ValueError(f"{where}: no kvlab manifest in the metadata; save it with save_cache or with kvlab")
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{where}: the manifest is not JSON ({error}); save the cache again") from error
    _check_manifest(manifest, where)
    return manifest


def _read_layers(file, manifest, where):
    count = manifest["model"]["num_hidden_layers"]
    present = set(file.keys())
    if len(present) != 2 * count:
        raise ValueError(f"{where}: {len(present)} tensors, the manifest's {count} layers need {2 * count}; "
                         "save the cache again")
    wanted = [[f"past_key_values.{n}.{part}" for part in ("key", "value")] for n in range(count)]
    missing = [name for pair in wanted for name in pair if name not in present]
    if missing:
        raise ValueError(f"{where}: tensor {missing[0]} is missing; save the cache again")
    return tuple((file.get_tensor(key), file.get_tensor(value)) for key, value in wanted)


def _check_manifest(manifest, where):
    if not isinstance(manifest, dict) or manifest.get("format") != "kvlab-cache":
        raise ValueError(f"{where}: format is not kvlab-cache; save it with save_cache or with kvlab")
    if type(manifest.get("version")) is not int or manifest["version"] != 1:
        raise ValueError(f"{where}: version {manifest.get('version')!r} is not 1; use a kvlab_cache.py that knows it")
    if manifest.get("form") == "native":
        raise ValueError(f"{where}: a native file, with unrotated rows that only kvlab reads; save it again from kvlab "
                         "with form hf_dynamic or hf_tuple")
    if manifest.get("form") not in FORMS:
        raise ValueError(f"{where}: form is {manifest.get('form')!r}, not one of {', '.join(FORMS)}")
    if manifest.get("dtype") not in DTYPES:
        raise ValueError(f"{where}: dtype is {manifest.get('dtype')!r}, not one of {', '.join(DTYPES)}")
    _check_model(manifest.get("model"), where)
    _check_rows(manifest, where)


def _check_model(model, where):
    if not isinstance(model, dict) or not isinstance(model.get("model_type"), str):
        raise ValueError(f"{where}: model.model_type is missing; pass the model's config to save_cache")
    for field in MODEL_SIZES:
        if not _is_index(model.get(field)) or model[field] == 0:
            raise ValueError(f"{where}: model.{field} is {model.get(field)!r}, not a positive integer")
    theta = model.get("rope_theta")
    if isinstance(theta, bool) or not isinstance(theta, (int, float)) or not (math.isfinite(theta) and theta > 0):
        raise ValueError(f"{where}: model.rope_theta is {theta!r}, not a positive number")


def _check_rows(manifest, where):
    for field in ("input_ids", "position_ids"):
        values = manifest.get(field)
        if not isinstance(values, list) or not values or not all(_is_index(v) for v in values):
            raise ValueError(f"{where}: {field} is not a non-empty list of integers from 0")
    ids, positions = manifest["input_ids"], manifest["position_ids"]
    if len(ids) != len(positions):
        raise ValueError(f"{where}: {len(positions)} position_ids for {len(ids)} input_ids; give one for each token")
    if any(b <= a for a, b in zip(positions, positions[1:])):
        raise ValueError(f"{where}: position_ids do not strictly increase; rows must be in the order of their positions")
    if "rows" not in manifest:
        return
    rows, layers = manifest["rows"], manifest["model"]["num_hidden_layers"]
    if not isinstance(rows, list) or len(rows) != layers:
        raise ValueError(f"{where}: rows does not have a list for each of {layers} layers; give one for each")
    for number, held in enumerate(rows):
        good = isinstance(held, list) and all(_is_index(v) and v < len(ids) for v in held)
        if not good or any(b <= a for a, b in zip(held, held[1:])):
            raise ValueError(f"{where}: rows of layer {number} are not ascending indices below {len(ids)}")


def _check_layers(layers, manifest, where):
    """Every tensor is [1, kv_heads, seq, head_dim] in the manifest's type, seq = number of rows of its layer."""
    model, length = manifest["model"], len(manifest["input_ids"])
    if len(layers) != model["num_hidden_layers"]:
        raise ValueError(f"{where}: the cache has {len(layers)} layers, the model {model['num_hidden_layers']}; "
                         "pass the config of the model that made it")
    heads, dim = model["num_key_value_heads"], model["head_dim"]
    for number, pair in enumerate(layers):
        held = len(manifest["rows"][number]) if "rows" in manifest else length
        for part, tensor in zip(("key", "value"), pair):
            _check_tensor(tensor, (1, heads, held, dim), manifest["dtype"], f"{where}: layer {number} {part}")


def _check_tensor(tensor, wanted, dtype, what):
    shape = tuple(tensor.shape)
    if len(shape) == 4 and shape[0] != 1:
        raise ValueError(f"{what} holds {shape[0]} sequences; select one, as in key[:1], and save it alone")
    if len(shape) == 4 and shape[2] != wanted[2]:
        raise ValueError(
            f"{what} holds {shape[2]} rows for {wanted[2]} input_ids; pass exactly the ids whose rows are cached "
            "(generate() never feeds the last one). For layers that differ, or that dropped rows for a sliding window, "
            "pass with rows what each layer holds, or build the cache as DynamicCache() without a config")
    if shape != wanted:
        raise ValueError(f"{what} has shape {list(shape)}, expected {list(wanted)} = [1, kv_heads, seq, head_dim]")
    if tensor.dtype != DTYPES[dtype]:
        raise ValueError(f"{what} is {tensor.dtype}, expected {dtype}; convert all layers to one type")


def _describe_model(config):
    text = config.get("text_config") if isinstance(config, dict) else getattr(config, "text_config", None)
    config = text or config  # text part of a model that also takes pictures
    def get(name, default=None):
        value = config.get(name) if isinstance(config, dict) else getattr(config, name, None)
        return default if value is None else value
    heads = get("num_attention_heads", 0)
    rope = get("rope_parameters", {})
    rope = rope.get("full_attention") or rope  # by layer type
    return {"model_type": get("model_type"), "num_hidden_layers": get("num_hidden_layers"),
            "num_key_value_heads": get("num_key_value_heads", heads),
            "head_dim": get("head_dim") or (get("hidden_size", 0) // heads if heads else 0),
            "rope_theta": float(rope.get("rope_theta") or get("rope_theta", 10000.0))}


def _dtype_name(tensor):
    for name, dtype in DTYPES.items():
        if tensor.dtype == dtype:
            return name
    raise ValueError(f"the cache is {tensor.dtype}; convert it to one of {', '.join(DTYPES)}")


def _integers(what, values):
    if isinstance(values, torch.Tensor):
        if values.is_floating_point():
            raise ValueError(f"{what} is {values.dtype}; pass integers")
        values = values.tolist()
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        values = values[0]
    if not all(_is_index(v) for v in values):
        raise ValueError(f"{what} is not one sequence of integers from 0; pass [seq] or [1, seq]")
    return list(values)


def _is_index(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _write_whole(path, data):
    """The file appears complete or not at all, in what the path points to."""
    path = path.resolve()
    if path.exists() and not path.is_file():  # a device or a pipe
        path.write_bytes(data)
        return
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(scratch, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            scratch.chmod(path.stat().st_mode & 0o7777)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
