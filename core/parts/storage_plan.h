// SPDX-License-Identifier: Apache-2.0
// Chooses layouts, row formats and pools for a manifest and checks that they fit into memory. Engine thread.
#pragma once
#include <vector>

#include "core/parts/session_parts.h"

namespace kvlab {

/// An error about a key of the manifest: code bad_manifest.
Error badKey(const char* key, const nlohmann::json& value, const std::string& why, const std::string& remedy);
/// Error if `layers` names one behind the model's last.
Status checkOverrides(const Manifest& manifest, Layer last);

/// The storage type that manifests call so; none if there is no such type.
std::optional<kernels::DType> rowTypeNamed(const std::string& name);

/// Phases that a query of each cache layer may attend to, [cache layers]; 0 = all.
std::vector<std::int32_t> windowsOf(const SessionParts& parts);

struct StoragePlan {
  LayoutSet layouts;
  std::vector<kernels::RowFormat> formats;  // [cache layers]
};
/// Rows that the policy of each cache layer leaves it, and those of a tick, [cache layers]; 0 = nothing bounds them.
std::vector<std::int32_t> rowsBounded(const Manifest& manifest, const CacheState& content);
/// As parts.manifest wants it, for what there is: heads whose share of an adaptive budget is decided may hold it,
/// whatever capacity says. rows, [cache layers]: rows that the pools have slots for, 0 = all that a layer may hold;
/// empty = as many as policies leave of the content. Errors: bad_manifest.
Result<StoragePlan> planStorage(const SessionParts& parts, const CacheState* content = nullptr,
                                std::vector<std::int32_t> rows = {});
/// Makes empty pools. Checks the total size before the first allocation. Errors: out_of_memory.
Result<CacheStore> makeStore(const SessionParts& parts, const StoragePlan& plan);
/// Replaces layouts and pools by empty ones for parts.manifest.
Status freshStorage(SessionParts& parts);
/// Takes other pools and layouts; the old ones go to parts.replaced. Takes no memory.
void replacePools(SessionParts& parts, CacheStore store, LayoutSet layouts);
/// Replaces layouts and pools by some like those of `other`, with its rows of these slots, [layers]; see
/// RowPool::like(). All slots are free. Errors: out_of_memory.
Status likeStorage(SessionParts& parts, const SessionParts& other, const LayerSlots& rows);

}  // namespace kvlab
