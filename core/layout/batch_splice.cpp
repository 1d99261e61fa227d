// SPDX-License-Identifier: Apache-2.0
// Treats the whole edit as one splice: each row behind the first edit moves once, in place.
#include "core/layout/contiguous.h"

namespace kvlab {
namespace {

class BatchSplice : public Contiguous {
 public:
  std::string_view name() const override { return "batch_splice"; }

 protected:
  Result<ReadyMoves> arranging(const ResidencyView& map, RowPool& pool, std::int32_t base) const override {
    std::vector<kernels::RowMove> moves;
    for (std::int32_t to = base; const Slot slot : map.residentSlots()) addMove(moves, slot.value(), to++);
    return ReadyMoves::of(pool, std::move(moves));
  }
};

}  // namespace

std::unique_ptr<StorageLayout> makeBatchSplice(int) { return std::make_unique<BatchSplice>(); }

}  // namespace kvlab
