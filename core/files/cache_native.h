// SPDX-License-Identifier: Apache-2.0
// The native form of cache files: a state byte for byte. core/interface.md, section 6, has the whole format. Tensors,
// with n = ledger rows, r = rows of a map, stride = bytes of a row record (kernels/row_format.h):
//   ledger.token I32 [n]   ledger.flags U8 [n, 4]: kind, state, source, pinned   ledger.brightness F32 [n]
//   ledger.ticks I64 [n, 2]: born, changed   ledger.birth_phases I32 [n]
//   ledger.parents I32 [..] with ledger.parent_ends I32 [n]; ledger.children with ledger.child_ends likewise
//   context.ledger I32 [length]   context.phases I32 [length]   context.brightness F32 [length]
//   groups.{g}.ledger I32 [r]   groups.{g}.phases I32 [r]   groups.{g}.provenance U64 [n, 3]
//   rows.{layer} U8 [r - first, stride], in the order of the layer's map
// The manifest has, besides the keys of all forms: fingerprint, numerics, position, rows {k, v, stride} or a list where
// layers differ, first [layers] (rows of the map that had left through the window; absent = none), keep [layers]
// (newest rows that the layer keeps, 0 = all), group_of [layers], random [2], tick, pending, memory, and a key for each
// kind of session. Older files have "converted" instead of "rounded" (cache_rounding.h): rows were stored in other
// types before (absent = true).
// cache_memory.h describes the statistics of policies and the state of the next token. The additions of a kind of
// session (kind_file.h) stand under the key of the kind; the maps of such a session hold rows in the order of the kind.
// The file holds neither history nor the position of a ring.
// In version 3 every layer has every row of such a kind, version 2 has no such kinds, version 1 has neither keep nor
// memory.
#pragma once

#include "core/files/cache_columns.h"
#include "core/state/cache_store.h"

namespace kvlab {

/// The columns of one file while it is written.
struct NativeColumns : ColumnsOut {
  NativeColumns(const CacheState& state, const CacheStore& store, const CacheTarget& target);
};

/// The "rows" entry of the manifest.
nlohmann::json rowsJson(const std::vector<kernels::RowFormat>& formats);

nlohmann::json nativeManifest(const CacheState& state, const CacheTarget& target, const std::vector<Action>& pending);

}  // namespace kvlab
