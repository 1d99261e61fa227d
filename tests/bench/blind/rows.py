# SPDX-License-Identifier: Apache-2.0
"""Caches as arrays, made by sessions of kvlab."""
import dataclasses
import functools
import json
import pathlib

import numpy as np

import kvlab

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODELS = ROOT / "tests" / "oracle" / "models"


class Unfit(Exception):
    """A cache that cannot have the mistake, or a form that cannot hold the cache."""


@dataclasses.dataclass(frozen=True)
class Model:
    """What a writer of files must know of a model. family: as its config.json says."""

    name: str        # for kvlab
    family: str
    vocab: int
    windows: tuple   # [layers], 0 = the layer sees everything
    longest: int     # text to compute on

    @property
    def label(self):
        return pathlib.Path(self.name).name


def _fixture(name, family, windows, longest=200):
    return Model(str(MODELS / name), family, 96, windows, longest)


# Small ones first. In the last two, SmolLM2 and Gemma 3, the search has something to lift.
ALL = (Model("demo", "llama", 512, (0, 0, 0, 0), 400), _fixture("llama_tied_f32", "llama", (0, 0)),
       _fixture("qwen3_f32", "qwen3", (0, 0)), _fixture("mixtral_f32", "mixtral", (0, 0)),
       _fixture("olmo2_f32", "olmo2", (0, 0)), _fixture("smollm3_f32", "smollm3", (0, 0)),
       _fixture("gemma2_f32", "gemma2", (12, 0, 12)), _fixture("gemma3_f16", "gemma3", (12, 12, 12, 12, 12, 0)),
       Model("smollm2-135m", "llama", 49152, (0,) * 30, 1000),
       Model("gemma3-270m", "gemma3", 262144, tuple(0 if i % 6 == 5 else 512 for i in range(18)), 1000))


@dataclasses.dataclass
class Cache:
    """Keys as transformers has them, turned at their positions. A layer may hold other rows than its neighbour."""

    model: Model
    ids: list        # the text that the file claims
    positions: list  # [layers][rows]
    keys: list       # [layers] of [rows, kv_heads, head_dim] f32
    values: list
    unturned: list   # [layers] keys before rotation
    told: list = None  # text before the edit, which the search is given in place of ids; None = there was none

    @property
    def layers(self):
        return len(self.keys)

    @property
    def length(self):
        return len(self.keys[0])

    @property
    def vocab(self):
        return self.model.vocab

    def with_rows(self, keys, values):
        return dataclasses.replace(self, keys=keys, values=values)

    def other_text(self, ids):
        """The rows of another text under the name of this one."""
        return dataclasses.replace(computed(self.model, ids), ids=self.ids)


def taken(model, session):
    """The rows of a session as they are, whatever a check would say of them."""
    layers = range(len(model.windows))
    turned = [session.rows_array(layer, rotated=True) for layer in layers]
    return Cache(model, [int(i) for i in session.tokens],
                 [[int(p) for p in session.rows(layer, columns=["phase"])["phase"]] for layer in layers],
                 [np.ascontiguousarray(k) for k, _ in turned], [np.ascontiguousarray(v) for _, v in turned],
                 [session.rows_array(layer)[0] for layer in layers])


EXACT = {"kv": {"k": "f32", "v": "f32"}}


@functools.cache
def _opened(name, manifest):
    return kvlab.open(name, threads=1, history_bytes=0, **json.loads(manifest))


def computed(model, ids, **manifest):
    """The rows that the model gives for a text; exact ones unless the manifest says otherwise."""
    with _opened(model.name, json.dumps(manifest or EXACT)).fork() as session:
        session.prompt_ids(ids)
        return taken(model, session)


def turned_twice(cache):
    """Keys turned at their positions once more: the factor of the first turn is read off keys before and behind it, so
    that no rule of rotation is needed."""
    out = []
    for before, behind in zip(cache.unturned, cache.keys):
        half = before.shape[2] // 2
        z0 = before[..., :half].astype(np.float64) + 1j * before[..., half:2 * half]
        z1 = behind[..., :half].astype(np.float64) + 1j * behind[..., half:2 * half]
        # all heads of a row turn alike: the factor of the head with the longest pair
        best = np.abs(z0).argmax(axis=1)[:, None]
        factor = np.take_along_axis(z1, best, axis=1) / np.take_along_axis(z0, best, axis=1)
        z2 = z1 * factor
        rest = behind[..., 2 * half:]
        out.append(np.concatenate([z2.real, z2.imag, rest], axis=2).astype(np.float32))
    return out
