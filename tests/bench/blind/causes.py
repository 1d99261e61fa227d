# SPDX-License-Identifier: Apache-2.0
"""Names in the search's list of causes that are right for a mistake, and those that are near: true of the rows, but not
the cause. A file shows rows, so that two histories that leave the same rows behind have the same right names."""
import json

RIGHT = {
    "ring_in_slot_order": {"rows_of_other_tokens"},
    "heads_interleaved": {"heads_and_dims_swapped"},
    "bf16_as_f16": set(),  # see _types
    "scales_of_next_head": {"scale_of_neighbour"},
    "rope_twice": {"rotated_twice"},
    "page_table_off_by_one": {"rows_of_other_tokens"},
    "values_of_next_layer": {"layer_order"},
    "stale_prefix": {"foreign_rows"},
    "nibble_order": set(),  # see right
    "key_scale_missing": {"scale"},
    "one_row_late": {"shifted_rows"},
    "ranks_swapped": {"head_order"},
    "heads_for_tokens": {"heads_before_rows"},
    "e4m3_as_e5m2": set(),
    "foreign_rows": {"foreign_rows", "rows_of_other_tokens"},  # the words of a text in another order
    "kept_state_outlived": {"kept_state_outlived", "shared_tail_page", "foreign_rows"},
    "shared_tail_page": {"kept_state_outlived", "shared_tail_page", "foreign_rows"},
    "rewind_two_too_many": {"rewind_two_too_many", "missing_rows"},
    "zeroed_rows": {"zeroed_rows", "zero_rows"},
}
NEAR = {
    "ring_in_slot_order": {"shifted_rows", "other_positions"},
    "scales_of_next_head": {"scaled_rows", "scale"},
    "page_table_off_by_one": {"shifted_rows"},
    "stale_prefix": {"stale_rows"},
    "nibble_order": {"pairing", "block_pieces", "head_transpose"},
    "key_scale_missing": {"scaled_rows"},
    "one_row_late": {"rows_of_other_tokens"},
    "one_slot": {"rows_of_other_tokens"},
    "slot_freed_twice": {"rows_of_other_tokens"},
    "scale_is_one": {"scaled_rows", "scale"},
    "scale_floor": {"scaled_rows", "scale", "row_type"},
    "scale_of_neighbour": {"scaled_rows"},
    "shift_of_codes": {"scaled_rows"},
    "chunk_positions_restart": {"position_shift", "other_positions"},
    "position_is_row_count": {"position_shift", "other_positions"},
    "window_plus_one": {"other_window"},
    "window_lost_at_one": {"other_window"},
    "rope_factor_switch": {"rotary_setting", "rotary_scaling"},
    "policy_never_ran": {"evicted_rows"},
    "crop_zero": {"missing_rows"},
}
# How a form lies, which is true of clean files too: importers correct nothing, and the search names it.
LAYOUT = {"llama.cpp": {"pairing", "hadamard"},
          "vllm-cpu": {"head_transpose", "heads_transposed", "block_pairs"}}  # one block: all rows
MISREAD = {"bf16_as_f16": ("bf16", "f16"), "e4m3_as_e5m2": ("e4m3", "e5m2")}


def right(truth, cause, cache):
    said = json.dumps(cause).lower().replace("float", "f")
    if truth in MISREAD:  # whatever the sort is called: both types by name
        wrote, read = MISREAD[truth]
        return wrote in said and read in said.replace(wrote, "")
    if truth == "nibble_order" and cache.keys[0].shape[2] == 32:  # one block is one head: the same permutation
        return cause["kind"] == "pairing" and "side" not in cause.get("parameters", {})
    return cause["kind"] in RIGHT.get(truth, {truth})


def near(truth, cause):
    return cause["kind"] in NEAR.get(truth, set())
