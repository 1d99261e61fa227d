// SPDX-License-Identifier: Apache-2.0
// Rows of a session on their way to files of other programs. A session gives its rows by a callback, so that this
// folder knows no sessions. A writer refuses by name whatever its form cannot hold. Values; any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/model/files/config.h"
#include "kernels/dtype.h"

namespace kvlab {

/// A row of a layer: its token, an index in OutgoingRows::ids, and the position by which its key is turned.
struct OutgoingRow {
  std::int32_t token = 0, position = 0;
  bool operator==(const OutgoingRow&) const = default;
};

struct OutgoingRows {
  ModelConfig config;
  std::vector<TokenId> ids;                      // [length] the context
  std::vector<std::vector<OutgoingRow>> layers;  // [layers][rows of the layer], tokens ascend
  /// Rows [begin, begin + n) of a layer, each [n, kvHeads * headDim]: keys as transformers has them, turned at their
  /// positions, with the dimensions of a head in the order of the model's checkpoint.
  std::function<void(std::int32_t layer, std::size_t begin, std::size_t n, float* k, float* v)> read;
};

/// What a caller chooses of a file. Nothing of it can be read off the session.
struct OutgoingWish {
  kernels::DType type = kernels::DType::f16;
  bool flash = true;         // llama_cpp: the reader uses flash attention
  std::int32_t page = 0;     // vllm: rows of a block; 0 = the program's default
  std::int32_t version = 0;  // llama_cpp: of the file; 0 = the form's usual one
};

struct OutgoingForm {
  std::string_view name;
  std::span<const kernels::DType> types;               // the first is the usual one
  bool flash = false, page = false, versions = false;  // the form has such a choice
  /// Bytes that were written. Errors: unsupported (with the field of a choice that does not go with the model), ragged,
  /// bad_positions, empty, not_finite, bad_file.
  Result<std::int64_t> (*write)(const OutgoingRows& rows, const OutgoingWish& wish, const std::string& path);
};

/// "the cache was not saved", with code and field.
Error notSaved(const char* code, const std::string& why, const std::string& remedy, const std::string& field = {},
               const nlohmann::json& value = {});
/// The type cannot hold a value of the row.
Error notFinite(std::int32_t layer, const OutgoingRow& row, kernels::DType type);

}  // namespace kvlab
