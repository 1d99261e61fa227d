// SPDX-License-Identifier: Apache-2.0
// Keys and values of one allocation, cut into rows in the wrong way: a block holds all its keys and then all its
// values, and was read as if each row held its keys and then its values. Pure; any thread.
#pragma once
#include <vector>

#include "core/explain/row_layout.h"

namespace kvlab {

struct PairLayout {
  std::int64_t block = 0;  // rows
  bool byHead = false;     // each head of a block by itself

  std::string text() const;
  /// Sorts keys and values [rows, width] of a layer apart, in place.
  void separate(const RowShape& shape, std::vector<float>& keys, std::vector<float>& values) const;
};

/// page: rows of a page, or 0.
std::vector<PairLayout> pairLayouts(const RowShape& shape, std::int32_t page);

}  // namespace kvlab
