// SPDX-License-Identifier: Apache-2.0
// One row is the record that one token leaves in the row pool of one layer.
//
//   [K values kvHeads*headDim][V values kvHeads*headDim][K scales kvHeads f32][V scales kvHeads f32]
//   [zero padding][tag u64][checksum u64]
//
// Records start at multiples of 64 bytes; every part starts at a multiple of 16, tag and checksum
// take the last 16 bytes. Scales are present only for types that need scales (row_quant.h). Keys are
// unrotated unless the reader is told otherwise. All offsets come from rowLayout().
#pragma once

#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/platform.h"

namespace kvlab::kernels {

inline constexpr int32_t kHeadDimMax = 512;

struct RowFormat {
  int32_t kvHeads = 0;
  int32_t headDim = 0;  ///< 1..kHeadDimMax
  DType k = DType::f32;
  DType v = DType::f32;
  /// What rows go through before they are written, as a number of whoever writes them; 0 = nothing. Formats with
  /// different numbers differ; no kernel looks at it.
  uint16_t codecs = 0;

  friend constexpr bool operator==(const RowFormat&, const RowFormat&) = default;
};

/// Floats in a row of a rotary table: cosines and sines of the pairs (i, i + headDim/2). The last value of an odd
/// number has no partner.
KVLAB_HD constexpr int32_t rotaryWidth(int32_t headDim) { return headDim / 2 * 2; }

/// Byte offsets inside a record, and its stride.
struct RowLayout {
  int64_t k = 0;
  int64_t v = 0;
  int64_t kScales = 0;
  int64_t vScales = 0;
  int64_t tag = 0;       ///< u64; the bytes that the checksum covers end here
  int64_t checksum = 0;  ///< u64
  int64_t stride = 0;
};

KVLAB_HD constexpr int64_t alignUp(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

KVLAB_HD constexpr RowLayout rowLayout(const RowFormat& f) {
  const int64_t values = int64_t{f.kvHeads} * f.headDim;
  const int64_t scales = int64_t{f.kvHeads} * 4;
  RowLayout o;
  o.v = alignUp(values * dtypeBytes(f.k), 16);
  o.kScales = o.v + alignUp(values * dtypeBytes(f.v), 16);
  o.vScales = o.kScales + (dtypeHasScale(f.k) ? alignUp(scales, 16) : 0);
  const int64_t end = o.vScales + (dtypeHasScale(f.v) ? alignUp(scales, 16) : 0);
  o.stride = alignUp(end + 16, 64);
  o.tag = o.stride - 16;
  o.checksum = o.stride - 8;
  return o;
}

/// True for formats that the kernels accept; check once when a pool is made.
KVLAB_HD constexpr bool rowFormatSupported(const RowFormat& f) {
  return f.kvHeads > 0 && f.headDim >= 1 && f.headDim <= kHeadDimMax && dtypeSupportedInRows(f.k) &&
      dtypeSupportedInRows(f.v);
}

}  // namespace kvlab::kernels
