// SPDX-License-Identifier: Apache-2.0
// Types in which other programs store rows, by the names that they have in files, and how each rounds a row. Pure; any
// thread.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace kvlab {

struct StoredType {
  std::string_view name;  // "q8_0"
  double bits;            // of a value, scales included
  int block;              // values that share a scale; 0 = a head, -1 = each value stands for itself
  /// Rounds so many values in place: a block, a head, or any number of them.
  void (*round)(float* values, int count);
};

/// All of them, wide ones first.
std::span<const StoredType> storedTypes();
/// By the name that a program gives it: "torch.bfloat16", "F16", "q8_0". Null: rows of the type cannot be rounded here.
const StoredType* storedType(std::string_view named);

/// Rounds rows [n, heads * headDim] in place.
void roundRows(const StoredType& type, std::span<float> rows, int headDim);

/// True if every value is one of the type, which stands for itself; false where most are zero and tell nothing.
bool holdsAll(const StoredType& type, std::span<const float> values);

/// True if nearly every head holds int8 codes times a scale of its own, whatever that scale is: whole multiples of
/// 1/127 of the largest value. rows: [n, heads * headDim]; false where most heads are zero.
bool holdsCodes(std::span<const float> rows, int headDim);

}  // namespace kvlab
