// SPDX-License-Identifier: Apache-2.0
// Which layouts, row formats and pools a manifest asks for, and whether they fit. Engine thread.
#pragma once
#include <vector>

#include "core/kinds/base/session_parts.h"

namespace kvlab {

/// About a key of the manifest: code bad_manifest.
Error badKey(const char* key, const nlohmann::json& value, const std::string& why, const std::string& remedy);

/// Phases that each cache layer's mask lets through, [cache layers]; 0 = all.
std::vector<std::int32_t> windowsOf(const SessionParts& parts);

struct StoragePlan {
  LayoutSet layouts;
  std::vector<kernels::RowFormat> formats;  // [cache layers]
};
/// Rows that the policy of each cache layer leaves it, and those of a tick, [cache layers]; 0 = nothing bounds them.
std::vector<std::int32_t> rowsBounded(const Manifest& manifest, const CacheState& content);
/// As parts.manifest wants it, for what there is: heads whose share of an adaptive budget is decided may hold it,
/// whatever capacity says. rows, [cache layers]: what the pools have slots for, 0 = all that a layer may hold; empty =
/// what policies leave of the content. Errors: bad_manifest.
Result<StoragePlan> planStorage(const SessionParts& parts, const CacheState* content = nullptr,
                                std::vector<std::int32_t> rows = {});
/// Empty pools for a plan; nothing is allocated before it is known to fit. Errors: out_of_memory.
Result<CacheStore> makeStore(const SessionParts& parts, const StoragePlan& plan);
/// Layouts and empty pools as parts.manifest wants them, in place of those there are.
Status freshStorage(SessionParts& parts);

}  // namespace kvlab
