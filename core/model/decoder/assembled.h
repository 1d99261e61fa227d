// SPDX-License-Identifier: Apache-2.0
// A copy of a layer's rows, oldest first, that attention reads instead of the pool: made in each layer
// after a pass has written its own rows. Engine thread.
#pragma once
#include "kernels/ops/op_table.h"

namespace kvlab {

/// Pointers are addresses of the back end.
struct Assembled {
  std::uint8_t* records = nullptr;  // in `format`; null = the pool itself is read
  kernels::RowFormat format;
  bool held = false;                        // made from lists that are held; else each row was listed
  const std::int32_t* slots = nullptr;      // [map rows] where the copy has each index that is seen
  const std::int32_t* self = nullptr;       // [n] or null, as LayerPass::selfSlot
  const kernels::RowMove* moves = nullptr;  // [nMoves] whole records, or:
  std::int64_t nMoves = 0;
  std::int64_t rows = 0;                // of the copy
  const std::int32_t* from = nullptr;   // [rows] slots that are dequantised to k and v
  float *k = nullptr, *v = nullptr;     // [rows, kvHeads*headDim]
  const std::int32_t* to = nullptr;     // [rows] places in the copy
  const std::uint64_t* tags = nullptr;  // [rows] ledger ids; 0 for rows that nobody sees
  std::uint8_t* verdicts = nullptr;     // [nSeen] or null: no guard
  const std::int32_t* seen =
      nullptr;  // [nSeen] what a guard looks at: places in a copy of whole records, else slots of the pool
  const std::uint64_t* seenTags = nullptr;
  std::int64_t nSeen = 0;
};

/// Makes the copy from `pool`. wrong: with a guard, receives the number of rows with a wrong tag or checksum.
void assemble(const kernels::OpTable& ops, const kernels::Context& context, const Assembled& to,
              const std::uint8_t* pool, const kernels::RowFormat& format, std::int64_t* wrong);

}  // namespace kvlab
