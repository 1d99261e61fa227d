# SPDX-License-Identifier: Apache-2.0
"""Models of Hugging Face transformers: where they lie, their attention, and how near rows of theirs are to ours."""
import inspect
import os

import torch

DTYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}

# A row may differ from an exact one by so many units of its type (relative L2): both sum in another order.
UNITS = {torch.float32: 2.0**-24 * 1024, torch.float16: 2.0**-11 * 16, torch.bfloat16: 2.0**-8 * 16}
LOSSY = 0.25  # of a row in any other type


def folder_of(model, folder):
    """What kvlab.open takes for the model: what the caller names, or the folder that it was loaded from."""
    found = folder or getattr(model.config, "_name_or_path", "")
    if not folder and (not found or not os.path.isdir(found)):
        found = found or "its configuration names none"
        raise ValueError(f"the model lies in no folder ({found}); name it: folder=...")
    return os.fspath(found)


def dtype_of(model):
    found = next(model.parameters()).dtype
    if found not in DTYPES:
        raise ValueError(f"the model computes in {found}, the engine in {', '.join(DTYPES.values())}; "
                         "load it with dtype=...")
    return DTYPES[found]


def attentions_of(model):
    """The attention modules, layer by layer."""
    found = {}
    for module in model.modules():
        named = inspect.signature(module.forward).parameters
        if isinstance(getattr(module, "layer_idx", None), int) and {"attention_mask", "past_key_values"} <= set(named):
            found[module.layer_idx] = module  # a module comes before those inside it: the innermost one stays
    layers = model.config.get_text_config().num_hidden_layers
    if sorted(found) != list(range(layers)):
        raise ValueError(f"{type(model).__name__} has {layers} layers and attention with a cache in {len(found)} of "
                         "them; models with other layers cannot be followed")
    return [found[layer] for layer in range(layers)]


def apart(theirs, ours):
    """Relative L2 difference of each row, [rows]."""
    theirs, ours = theirs.flatten(1).double(), ours.flatten(1).double()
    return (theirs - ours).norm(dim=1) / ours.norm(dim=1).clamp_min(1e-30)


def same_weights(session, pairs):
    """Refuses a session of another model. pairs: the model's keys or values of layer 0, which depend on tokens alone,
    and the session's, [KV heads, rows, head_dim] or [rows, head_dim]."""
    _, said = session.pool(0)
    stored = {name: UNITS[dtype] for dtype, name in DTYPES.items()}
    for theirs, ours in pairs:
        bound = max(UNITS[theirs.dtype], *(stored.get(said[part], LOSSY) for part in "kv"))
        fits = theirs.shape == ours.shape
        rows = [one.flatten(0, -2).cpu().float() for one in (theirs, ours)]
        worst = apart(*rows).max().item() if fits else 2.0
        if not worst <= bound:
            raise ValueError(f"rows of layer 0 differ by {worst:.3g} from those of the session: it has another model "
                             "than transformers; give both the same weights (folder=... names the session's)")
