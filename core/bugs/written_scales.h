// SPDX-License-Identifier: Apache-2.0
// Changes the scales of stored rows and seals the rows again. For bugs of quantisation.
#pragma once
#include "core/bugs/bug_kind.h"

namespace kvlab {

/// A head of K or V as it is stored.
struct HeadCodes {
  float& scale;
  std::span<std::uint8_t> codes;  // [headDim]
  kernels::DType type;
  bool key;
};
/// Calls `change` for each quantised head of K and V of each row, which keeps its tag.
void changeScales(const WrittenBend& bend, const std::function<void(const HeadCodes&)>& change);
/// The scales of K of some rows, [slots, kvHeads]; empty where K has none.
std::vector<float> keyScales(const RowPool& pool, std::span<const Slot> slots);
/// Gives a row the scales of another one, as a copy does that counts bytes wrongly.
void takeScales(RowPool& pool, Slot from, Slot to);

}  // namespace kvlab
