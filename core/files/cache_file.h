// SPDX-License-Identifier: Apache-2.0
// Cache files: one safetensors file, written whole or not at all. The metadata entry "kvlab" is
// JSON
//   {"format": "kvlab-cache", "version": 1, "form": "hf_dynamic" | "hf_tuple" | "native",
//    "model": {"model_type", "num_hidden_layers", "num_key_value_heads", "head_dim", "rope_theta"},
//    "input_ids": [length], "position_ids": [length], "dtype": "float32", "edited": false,
//    "fingerprint", "numerics", "rounded"}
// that resources/python/kvlab_cache.py reads and writes too (the last four are specific to kvlab: "edited" says that
// rows may belong to a context that no longer exists, absent = false; cache_rounding.h describes "rounded").
//
// hf_tuple and hf_dynamic hold past_key_values.{layer}.key and .value, [1, kvHeads, length,
// headDim], keys rotated at position_ids as Hugging Face stores them. If a layer lacks rows, the manifest also has
// "rows": [layers][length of the layer], ascending indices of input_ids, and tensors are as long as their layer. Values
// and token ids come back bit for bit. Keys are rotated and unrotated in double and rounded to the storage type on
// either way: a key pair that was saved and loaded differs by at most 3 u |pair|, u = 2^-24 (f32),
// 2^-11 (f16), 2^-8 (bf16). A file does not record the inputs of its rows: unless it is marked edited, they count as
// computed from the context that the file holds.
//
// native holds the state itself (cache_native.h): loading one restores the state hash.
//
// Every refusal of a file is an Error whose text names file, tensor and place and leaves the
// session as it was: bad_file (damaged or made up), other_model, other_numerics, other_format
// (native, other row types, position mode, residency or settings of a kind), bad_positions, ragged (saving), empty,
// capacity, no_phase_room.
#pragma once
#include <optional>
#include <string_view>

#include "core/files/cache_import.h"
#include "core/model/files/safetensors.h"

namespace kvlab {

std::string_view name(CacheForm form);
std::optional<CacheForm> cacheFormFromName(std::string_view name);
/// The names of all forms; the first is the usual one.
std::vector<std::string_view> cacheFormNames();

/// Checks a cache file's bytes completely against `target`; `file` names the file in errors. The caller sets storage.
Result<CacheImport> parseCache(std::span<const std::byte> bytes, const std::string& file, const CacheTarget& target);

/// K (unrotated) and V of rows [begin, begin+n) of a layer of a Hugging Face form, as f32
/// [n, kvHeads*headDim].
void unrotatedRows(const CacheImport& rows, const ModelConfig& config, CacheLayer layer, std::int64_t begin,
                   std::int64_t n, float* k, float* v);

// --- shared by the forms
// ---------------------------------------------------------------------------

/// A file that cannot be used (code bad_file); field names the tensor or key, if one is at fault.
/// The reason why attention cannot compute with a stored value: it is not finite, or so large that the product of two
/// such values is not finite; null = it can.
const char* faultOf(float value);
Error badCache(const std::string& file, const std::string& why, const std::string& field = {});
/// One more than the largest number that an id, a position or a group may have.
inline constexpr std::int64_t kNumbersEnd = std::int64_t{1} << 31;
/// manifest[key] as numbers from 0 below `end`, or bad_file.
Result<std::vector<std::int32_t>> indexList(const nlohmann::json& manifest, const char* key, std::int64_t end,
                                            const std::string& file);
/// The manifest's word for the residency of a session's cache layers: layer, or kv_head.
const char* residencyName(const CacheTarget& target);
nlohmann::json describeModel(const ModelConfig& config);
/// Error (code other_model) unless the file's model is the session's.
Status checkModel(const nlohmann::json& manifest, const ModelConfig& config, const std::string& file);
/// Errors: capacity.
Status checkCapacity(std::int64_t rows, const CacheTarget& target, const std::string& file);
/// Error (code no_phase_room) unless at least one phase is free above the last one.
Status checkPhases(const std::vector<std::int32_t>& phases, const CacheTarget& target, const std::string& file);

/// Version of form native that is written; older versions can be read, too. The other forms have version 1.
inline constexpr std::int64_t kNativeVersion = 4;

Result<CacheImport> parseHf(const Safetensors& file, const nlohmann::json& manifest, const std::string& path,
                            const CacheTarget& target);
Result<CacheImport> parseNative(const Safetensors& file, const nlohmann::json& manifest, const std::string& path,
                                const CacheTarget& target);

}  // namespace kvlab
