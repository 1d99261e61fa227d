// SPDX-License-Identifier: Apache-2.0
// Contents of a native cache file besides rows (since version 2), so that a loaded session continues like the saved
// one: if rows have left since the last pass, its logits and attention cannot be computed again. Tensors, with r = rows
// of the layer's map, heads of the cache layer, a = rows of the map that the newest query attended to:
//   next.logits F32 [vocab], unless stale
//   attention.{layer}.ledger I32 [a]   attention.{layer}.mass F32 [a + 1], if the last pass returned it
//   gates.{layer of the model} F32 [ledger ids so far, its kvHeads], if gates scored rows; NaN = none
//   policy.{layer}.received, .observed F32 [kvHeads, r]   policy.{layer}.scores F32 [1, r]
//   policy.{layer}.mean F64 [heads, headDim]   policy.{layer}.covariance F64 [heads, headDim, headDim]
//   future.{layer} F32 [lists, rows of the record], if an oracle has a record
// The manifest's "memory" is null without policies, else {prefilling, prompt_rows, seen, layers: [{policy, budget,
// bands, memory?}]}, memory in hexadecimal. Values; any thread.
#pragma once
#include "core/files/cache_columns.h"

namespace kvlab {

struct CacheMemory {
  std::shared_ptr<const std::vector<float>> logits;  // [vocab], or null
  std::shared_ptr<const NewestAttention> attention;  // only ids and mass, or null
  std::vector<std::vector<float>> gateScores;        // [layers][ledger ids so far, kvHeads]; or empty
  std::vector<nlohmann::json> policies;              // [layers] policies that made the statistics; empty = none
  PolicyState policy;                                // without specs and files; maps only name ledger ids
  bool seen = false;                                 // policies have used the attention already
};

/// The manifest's "memory"; null without policies.
nlohmann::json memoryJson(const CacheState& state);
void addMemory(ColumnsOut& out, const CacheState& state, int kvHeads);
/// Groups and ledger of `rows` must be set. Errors: bad_file.
Result<CacheMemory> readMemory(ColumnsIn& in, const nlohmann::json& manifest, const std::string& path,
                               const CacheTarget& target, const CacheImport& rows);

}  // namespace kvlab
