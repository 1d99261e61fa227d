// SPDX-License-Identifier: Apache-2.0
// Arrays of numbers in files of other programs, and rows made of them. An array is a view: bytes of a mapped file, a
// shape and strides; axes are chosen, cut and reordered without a copy. Values; any thread.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/foreign/foreign_cache.h"
#include "core/model/files/safetensors.h"

namespace kvlab {

struct ForeignArray {
  Element element = Element::F32;
  std::span<const std::byte> bytes;   // the storage, which other arrays may share
  std::int64_t offset = 0;            // of the first value, in values
  std::vector<std::int64_t> shape;    // [axes]
  std::vector<std::int64_t> strides;  // [axes] in values
  std::shared_ptr<const void> keep;   // keeps the bytes

  std::size_t axes() const { return shape.size(); }
  std::int64_t values() const;
  /// One place of an axis; the axis is gone.
  ForeignArray place(std::size_t axis, std::int64_t index) const;
  /// Places [begin, begin + length) of an axis.
  ForeignArray part(std::size_t axis, std::int64_t begin, std::int64_t length) const;
  /// Axis i is the old axis order[i].
  ForeignArray reordered(const std::vector<std::size_t>& order) const;
  /// An axis as two, the second of `inner` places, which divide its length.
  ForeignArray split(std::size_t axis, std::int64_t inner) const;
};

/// By name. A name that stands for a layer has its number in it.
using ForeignArrays = std::map<std::string, ForeignArray, std::less<>>;

/// The arrays of a file, and what stands beside them.
struct ArrayFile {
  std::string path;
  ForeignArrays arrays;
  std::map<std::string, nlohmann::json, std::less<>> facts;  // texts and numbers beside them, by name

  const ForeignArray* find(std::string_view name) const {
    const auto it = arrays.find(name);
    return it == arrays.end() ? nullptr : &it->second;
  }
  /// The first of some names that there is; null = none. `which` becomes its name.
  const ForeignArray* firstOf(std::span<const std::string_view> names, std::string& which) const;
};

/// Row-major, from the first byte on.
ForeignArray denseArray(Element element, std::vector<std::int64_t> shape, std::span<const std::byte> bytes,
                        std::shared_ptr<const void> keep);
/// An array that shape and strides leave inside its bytes, and that shows no byte twice. Error: bad_file.
Status checkArray(const ForeignArray& array, const std::string& file, const std::string& name);

/// Rows of pieces of one type, one behind another: the last two axes of each are [heads, head size], those before count
/// rows. Error (bad_file): pieces differ, or have a type that is no number.
Result<ForeignRows> foreignRows(std::vector<ForeignArray> pieces, const std::string& file, const std::string& name);
/// The same of keys and values, which must have as many rows.
Result<ForeignLayer> foreignLayer(std::int32_t number, std::vector<ForeignArray> keys, std::vector<ForeignArray> values,
                                  const std::string& file, const std::string& name);

/// Whole numbers of 32 bits, of any shape, as ids and positions have them. Error: bad_file.
Result<std::vector<std::int32_t>> foreignNumbers(const ForeignArray& array, const std::string& file,
                                                 const std::string& name);

/// The one of `batch` sequences that a caller wants. Error (bad_argument): there are several and none was named.
Result<std::int64_t> foreignSequence(std::int64_t batch, const ForeignAsk& ask, const std::string& file);

}  // namespace kvlab
