# SPDX-License-Identifier: Apache-2.0
"""Rows of a running vLLM, a folder for each request, which `kvlab compare` and kvlab.compare() read.

    vllm serve MODEL --kv-transfer-config '{"kv_connector": "KvlabConnector", "kv_connector_module_path": "kvlab.vllm",
        "kv_role": "kv_both", "kv_connector_extra_config": {"path": "rows"}}'
    kvlab compare rows/REQUEST --model MODEL

A folder is written when its request has ended, before vLLM gives the blocks back: a moment after the answer, which
names the folder (kv_transfer_params); without an engine process of its own, with the next request. Nothing is loaded
into vLLM, and nothing of its cache is changed.

A folder holds a safetensors file for each layer, named after it, in the form of those of vLLM's ExampleConnector:
`kv_cache` [rows of whole blocks, heads, keys | values], in the order of the text, places within a block as the back end
views them. `input_ids` and `positions` say what the rows are of; a position of -1 is that of a place without a row. The
metadata has the block size. kvlab.json has the same facts for people:
    {"vllm", "model", "request", "backend", "dtype", "ids": [rows], "rows": how many are filled, "cached": how many of
     them came from blocks of other requests, "block_size", "layers": [{"layer", "name", "window"}]}
"""
import json
import os
import pathlib
import re
import shutil
from dataclasses import dataclass, field
from importlib import metadata

import torch
from safetensors.torch import save_file
from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1, KVConnectorMetadata, KVConnectorRole
from vllm.logger import init_logger
from vllm.v1 import kv_cache_interface as specs

logger = init_logger("vllm.kvlab")  # vLLM shows what is below its own name
PLAIN = (specs.FullAttentionSpec, specs.SlidingWindowSpec)  # a row of keys and one of values for each head and token
TYPES = (torch.float32, torch.float16, torch.bfloat16)
FREED = 0  # stands for blocks that have left the window of their layers


def _beside(blocks):
    """Keys and values of a row and head lie side by side. [blocks, heads, rows, head_dim] each."""
    return blocks.chunk(2, dim=3)


def _behind(blocks):
    """In a block, values of a head lie behind its keys."""
    count, heads, rows, _ = blocks.shape
    return blocks.reshape(count, heads, 2 * rows, -1).chunk(2, dim=2)


#: How back ends find keys and values in [blocks, heads, rows of a block, 2 * head_dim], as those of vLLM 0.32 do.
BACKENDS = {"CPU_ATTN": _behind, "FLASH_ATTN": _beside, "TRITON_ATTN": _beside, "FLEX_ATTENTION": _beside}


@dataclass
class _Ended:
    """A request that has ended; its blocks are held until a worker has written them."""

    request: str
    ids: list[int]  # of the rows that are filled
    blocks: list[int]
    cached: int


@dataclass
class _Step(KVConnectorMetadata):
    """What the scheduler tells the worker with a step."""

    ended: list[_Ended] = field(default_factory=list)


class KvlabConnector(KVConnectorBase_V1):
    """Writes the rows of every request that ends. extra config: path, the folder of the folders."""

    def __init__(self, vllm_config, role: KVConnectorRole, kv_cache_config=None):
        super().__init__(vllm_config, role, kv_cache_config)
        parallel = vllm_config.parallel_config
        if parallel.world_size > 1:
            raise ValueError(f"each of {parallel.world_size} workers holds a share of the rows, and kvlab.vllm writes "
                             "whole rows; set tensor_parallel_size and pipeline_parallel_size to 1")
        self._path = pathlib.Path(self._kv_transfer_config.get_from_extra_config("path", "kvlab-rows")).absolute()
        self._groups = [(names, spec) for group in kv_cache_config.kv_cache_groups
                        for names, spec in _plain(group.layer_names, group.kv_cache_spec)]
        if len(kv_cache_config.kv_cache_groups) > 1:
            raise ValueError("the layers of this model lie in several block tables (a hybrid cache), and kvlab.vllm "
                             "follows one; add --disable-hybrid-kv-cache-manager")
        self._ended: list[_Ended] = []  # of the scheduler, as the next one
        self._cached: dict[str, int] = {}  # by request
        self._layers: dict[str, torch.Tensor] = {}  # of the worker

    # --- scheduler --------------------------------------------------------------------------------------

    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        self._cached[request.request_id] = num_computed_tokens
        return 0, False

    def update_state_after_alloc(self, request, blocks, num_external_tokens):
        return

    def build_connector_meta(self, scheduler_output):
        ended, self._ended = self._ended, []
        return _Step(ended)

    def request_finished(self, request, block_ids):
        cached = self._cached.pop(request.request_id, 0)
        rows = min(request.num_computed_tokens - getattr(request, "num_in_flight_tokens", 0), request.num_tokens)
        if rows <= 0 or not block_ids:
            return False, None
        self._ended.append(_Ended(request.request_id, list(request.all_token_ids[:rows]), list(block_ids), cached))
        return True, {"kvlab": str(self._folder(request.request_id))}

    # --- worker -----------------------------------------------------------------------------------------

    def register_kv_caches(self, kv_caches):
        for name, cache in kv_caches.items():
            if not torch.is_tensor(cache):
                raise ValueError(f"{name} holds a state in place of rows (a hybrid cache): kvlab.vllm cannot write it")
        for names, spec in self._groups:
            for name in names:
                if name in kv_caches:
                    _shape(name, kv_caches[name], spec)
                    self._backend(name)
        self._layers = kv_caches

    def start_load_kv(self, forward_context, **kwargs):
        return

    def wait_for_layer_load(self, layer_name):
        return

    def save_kv_layer(self, layer_name, kv_layer, attn_metadata, **kwargs):
        return

    def wait_for_save(self):
        return

    def get_finished(self, finished_req_ids):
        ended = self._get_connector_metadata().ended if self.has_connector_metadata() else []
        for one in ended:
            try:
                self._write(one)
            except OSError as error:  # a full disk does not end the engine
                logger.error("kvlab.vllm did not write the rows of %s: %s", one.request, error)
        return {one.request for one in ended} or None, None

    # --- files ------------------------------------------------------------------------------------------

    def _folder(self, request):
        return self._path / (re.sub(r"[^A-Za-z0-9_-]", "_", request)[:200] or "_")

    def _write(self, one):
        folder = self._folder(one.request)
        part = folder.with_name(folder.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        layers = []
        for names, spec in self._groups:
            for name in names:
                if name not in self._layers:
                    continue  # reads the rows of another layer
                blocks = _blocks(self._layers[name], spec, one)
                keys, values = BACKENDS[self._backend(name)](blocks)
                rows = torch.cat([keys, values], dim=3).transpose(1, 2).flatten(0, 1).contiguous().cpu()
                save_file({"kv_cache": rows, **_places(one, len(rows), spec.block_size)}, part / f"{name}.safetensors",
                          metadata={"block_size": str(blocks.shape[2])})
                layers.append({"layer": _number(name), "name": name, "window": getattr(spec, "sliding_window", None)})
        first = self._layers[layers[0]["name"]]
        said = {"vllm": _version(), "model": self._vllm_config.model_config.model, "request": one.request,
                "backend": self._backend(layers[0]["name"]), "dtype": str(first.dtype).removeprefix("torch."),
                "ids": one.ids, "rows": len(one.ids), "cached": one.cached, "block_size": first.shape[2],
                "layers": sorted(layers, key=lambda layer: layer["layer"])}
        (part / "kvlab.json").write_text(json.dumps(said, indent=1))
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(part, folder)

    def _backend(self, name):
        """The name of the back end of a layer; refuses those whose rows nobody has looked at."""
        found = self._vllm_config.compilation_config.static_forward_context[name].attn_backend.get_name()
        if found not in BACKENDS:
            raise ValueError(f"kvlab.vllm does not know how the back end {found} lays rows; set --attention-backend to "
                             f"one of {', '.join(BACKENDS)}")
        return found


def _plain(names, spec):
    """The layers of a group with their form, if each has rows of keys and values; refuses others by name."""
    parts = getattr(spec, "kv_cache_specs", None)
    pairs = [([name], parts[name]) for name in names] if parts else [(names, spec)]
    for own, form in pairs:
        kind = type(form).__name__
        if "MLA" in kind:
            raise ValueError(f"{own[0]} holds latent rows (MLA, {kind}), which kvlab.vllm cannot write yet")
        if type(form) not in PLAIN:
            raise ValueError(f"{own[0]} holds no rows of keys and values ({kind}), as in hybrid models; kvlab.vllm "
                             "writes " + " and ".join(one.__name__ for one in PLAIN))
        if form.dtype not in TYPES:
            raise ValueError(f"{own[0]} is stored as {form.dtype}; kvlab.vllm writes caches without scales: leave out "
                             "--kv-cache-dtype, or give it auto, float16 or bfloat16")
    return pairs


def _shape(name, cache, spec):
    """Refuses a view other than [blocks, heads, rows of a block, keys | values]."""
    shape = tuple(cache.shape)
    if len(shape) != 4 or shape[1] != spec.num_kv_heads or spec.block_size % shape[2] or shape[3] != 2 * spec.head_size:
        raise ValueError(f"{name}: the cache has the shape {shape}; kvlab.vllm knows [blocks, {spec.num_kv_heads} "
                         f"heads, rows of a block, {2 * spec.head_size}], as vLLM 0.32 has it")


def _blocks(cache, spec, one):
    """The blocks of a request in the order of its text, [blocks, heads, rows of a block, keys | values]."""
    parts = spec.block_size // cache.shape[2]  # of a block that the back end divides
    most = -(-len(one.ids) // spec.block_size)
    ids = torch.tensor([block * parts + i for block in one.blocks[:most] for i in range(parts)], device=cache.device)
    return cache[ids].contiguous()


def _places(one, rows, block_size):
    """Tensors that say what each of `rows` rows is of."""
    positions = torch.full((rows,), -1, dtype=torch.int32)
    positions[: len(one.ids)] = torch.arange(len(one.ids), dtype=torch.int32)
    for place, block in enumerate(one.blocks):
        if block == FREED:
            positions[place * block_size: (place + 1) * block_size] = -1
    return {"input_ids": torch.tensor(one.ids, dtype=torch.int32), "positions": positions}


def _number(name):
    """The number of a layer in the model."""
    numbers = re.findall(r"(?<=\.)\d+(?=\.|$)", name)
    if len(numbers) != 1:
        raise ValueError(f"{name} does not say which layer of the model it is; kvlab.vllm cannot write it")
    return int(numbers[0])


def _version():
    return metadata.version(metadata.packages_distributions()["vllm"][0])  # the distribution has several names
