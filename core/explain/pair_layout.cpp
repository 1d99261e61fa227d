// SPDX-License-Identifier: Apache-2.0
#include "core/explain/pair_layout.h"

#include <algorithm>

#include "core/api/ids.h"

namespace kvlab {

std::string PairLayout::text() const {
  return std::string("a block of ") + std::to_string(block) + " rows holds all its keys" +
      (byHead ? " of a head" : "") + " and then all its values, and was read row by row";
}

void PairLayout::separate(const RowShape& shape, std::vector<float>& keys, std::vector<float>& values) const {
  const std::vector<float> oldKeys = keys, oldValues = values;
  const std::int64_t groups = byHead ? shape.heads : 1, width = shape.width() / groups;
  std::vector<float> mixed;
  for (std::int64_t first = 0; first < shape.rows; first += block) {
    const std::int64_t rows = std::min(block, shape.rows - first);
    for (std::int64_t group = 0; group < groups; ++group) {
      mixed.clear();
      const auto place = [&](std::int64_t row) { return (first + row) * shape.width() + group * width; };
      for (std::int64_t row = 0; row < rows; ++row)
        for (const std::vector<float>* old : {&oldKeys, &oldValues})
          mixed.insert(mixed.end(), old->begin() + place(row), old->begin() + place(row) + width);
      for (std::int64_t row = 0; row < rows; ++row) {
        std::copy_n(mixed.begin() + row * width, width, keys.begin() + place(row));
        std::copy_n(mixed.begin() + (rows + row) * width, width, values.begin() + place(row));
      }
    }
  }
}

std::vector<PairLayout> pairLayouts(const RowShape& shape, std::int32_t page) {
  std::vector<std::int64_t> blocks = {16, 32, 64, 128, 256};
  if (page > 1 && std::ranges::find(blocks, page) == blocks.end()) blocks.push_back(page);
  blocks.push_back(shape.rows);
  std::vector<PairLayout> out;
  for (const std::int64_t block : blocks) {
    if (block < 2 || block > shape.rows) continue;
    out.push_back({block, false});
    if (shape.heads > 1) out.push_back({block, true});
  }
  return out;
}

}  // namespace kvlab
