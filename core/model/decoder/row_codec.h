// SPDX-License-Identifier: Apache-2.0
// Codecs of rows from outside: a rule gives the key or the value of each KV head as it comes back from an encoding of
// its own. Rows are stored as f32 behind it, so that every reader, the row's own query included, sees what the encoding
// left. A codec is a function of one head of one row: chunks, residency and other rows do not change what it gives.
// RowFormat::codecs numbers the pairs of codecs (of keys, of values) that sessions use; a number is never used again.
// core/api/added.h has the codecs by name. Any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/api/added.h"
#include "core/api/ids.h"
#include "kernels/row_format.h"

namespace kvlab {

/// Heads of rows on their way into a pool.
struct CodedHeads {
  Layer layer;
  bool keys = false;  // unrotated keys, else values
  int headDim = 0;
  std::span<const std::int32_t> heads;  // [n] KV head of the layer
  std::span<const float> values;        // [n, headDim]
  const nlohmann::json& options;
};

struct RowCodec {
  /// [n, headDim]
  std::function<Result<std::vector<float>>(const CodedHeads&)> rule;
};

/// Adds a codec. Errors (code bad_codec): those of add(); the name is that of a row type.
Status addCodec(const std::string& name, const std::string& help, const nlohmann::json& options,
                const std::string& revision, RowCodec codec);

/// The number of the codecs that manifests name so; a text that names none, as that of a row type, means no codec.
/// Error bad_codec: no number is left.
Result<std::uint16_t> codecsOf(const std::string& k, const std::string& v);
/// The text of a pair's codec; empty = it has none.
const std::string& codecOf(std::uint16_t codecs, bool keys);
/// The name of the type that keys or values of a format have: that of their codec, or of their storage type.
std::string typeText(const kernels::RowFormat& format, bool keys);
/// The format with other storage types, and without the codecs of those. Error: as codecsOf().
Result<kernels::RowFormat> withTypes(kernels::RowFormat format, std::optional<kernels::DType> k,
                                     std::optional<kernels::DType> v);

/// Rows as the format's codec gives them back. from: [n, kvHeads*headDim], a row `stride` floats behind the one before;
/// first: KV head of the layer that a row begins with. Empty where the format has no such codec. Error bad_codec.
Result<std::vector<float>> coded(const kernels::RowFormat& format, bool keys, Layer layer, int first, std::int64_t n,
                                 const float* from, std::int64_t stride);
/// The largest change of a value that codecs have made, in parts of the largest value of its head.
struct CodecChange {
  float k = 0, v = 0;
};
/// The same in place, [n, kvHeads*headDim] each.
Result<CodecChange> encodeRows(const kernels::RowFormat& format, Layer layer, int first, std::int64_t n, float* k,
                               float* v);

}  // namespace kvlab
