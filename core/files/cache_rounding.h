// SPDX-License-Identifier: Apache-2.0
// The "rounded" entry of a cache file's manifest: how far the types that rows have passed through may have moved them,
// [layers] of [K relative, K of the largest, V relative, V of the largest] (core/state/rounding.h). Pure; any thread.
#pragma once
#include "core/files/cache_file.h"
#include "core/state/cache_store.h"

namespace kvlab {

/// A native file says 0 of rows that have the types they were computed in. turned: stored keys are turned (key_phase
/// at_write).
nlohmann::json roundedJson(const CacheState& state, const CacheStore& store, CacheForm form, bool turned);

/// Roundings of the rows of a native file; files of older versions say at most that there were some.
Result<std::vector<CacheImport::Rounded>> roundedRows(const nlohmann::json& manifest, const std::string& path,
                                                      const CacheTarget& target);
/// The same for a Hugging Face form with values of `type`. If kvlab did not write it, products were rounded to `type`.
Result<std::vector<CacheImport::Rounded>> roundedRows(const nlohmann::json& manifest, const std::string& path,
                                                      const CacheTarget& target, kernels::DType type);

}  // namespace kvlab
