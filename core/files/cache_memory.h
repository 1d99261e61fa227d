// SPDX-License-Identifier: Apache-2.0
// What a native cache file holds besides rows (since version 2), so that a loaded session goes on as the saved one
// would: rows may have left since the last pass, and then nothing computes its logits and attention again. Tensors,
// with r = rows of the layer's map, a = rows of the map that the newest query saw:
//   next.logits F32 [vocab], unless they were stale
//   attention.{layer}.ledger I32 [a]   attention.{layer}.mass F32 [a + 1], where the last pass brought it
//   gates.{layer} F32 [rows of the ledger so far, kvHeads], where gates scored rows; not-a-number = none
//   policy.{layer}.received, .observed F32 [kvHeads, r]   policy.{layer}.scores F32 [1, r]
//   policy.{layer}.mean F64 [heads, headDim]   policy.{layer}.covariance F64 [heads, headDim, headDim]
//   future.{layer} F32 [lists, rows of the record], where an oracle was told
// The manifest's "memory" is null without policies, else {prefilling, prompt_rows, seen, layers: [{policy, budget,
// bands}]}. Values; any thread.
#pragma once
#include "core/files/cache_columns.h"

namespace kvlab {

struct CacheMemory {
  std::shared_ptr<const std::vector<float>> logits;  // [vocab], or null
  std::shared_ptr<const NewestAttention> attention;  // ids and mass alone, or null
  std::vector<std::vector<float>> gateScores;        // [layers][rows of the ledger so far, kvHeads]; or empty
  std::vector<nlohmann::json> policies;              // [layers] whose memory this is; empty = the session had none
  PolicyState policy;                                // without specs and files; lists name maps of their ids alone
  bool seen = false;                                 // policies have taken the attention over
};

/// Of the manifest; null without policies.
nlohmann::json memoryJson(const CacheState& state);
void addMemory(ColumnsOut& out, const CacheState& state, int kvHeads);
/// `rows` has groups and ledger already. Errors: bad_file.
Result<CacheMemory> readMemory(ColumnsIn& in, const nlohmann::json& manifest, const std::string& path,
                               const CacheTarget& target, const CacheImport& rows);

}  // namespace kvlab
