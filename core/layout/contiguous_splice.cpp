// SPDX-License-Identifier: Apache-2.0
// The splice of a cache without an index: each splice of the list, from the highest position down, moves every later
// row of the layer. torch.cat does the same with a second buffer.
#include "core/layout/contiguous.h"

namespace kvlab {
namespace {

using kernels::RowMove;

/// Runs of survivors that keep their distance, in context order, and rows that a pass computed behind all survivors.
struct Pieces {
  std::vector<RowMove> survivors, fresh;
};

/// The slots of survivors ascend. A row that breaks the order is new, and so are all rows behind the last survivor.
Pieces piecesOf(const ResidencyView& map) {
  Pieces pieces;
  const std::span<const Slot> slots = map.residentSlots();
  std::vector<std::int32_t> least(slots.size() + 1, std::numeric_limits<std::int32_t>::max());
  for (std::size_t i = slots.size(); i-- > 0;) least[i] = std::min(least[i + 1], slots[i].value());
  for (std::size_t i = 0; i < slots.size(); ++i)
    addMove(slots[i].value() < least[i + 1] ? pieces.survivors : pieces.fresh, slots[i].value(),
            static_cast<std::int32_t>(i));
  return pieces;
}

class ContiguousSplice : public Contiguous {
 public:
  std::string_view name() const override { return "contiguous_splice"; }

 protected:
  Result<ReadyMoves> arranging(const ResidencyView& map, RowPool& pool, std::int32_t) const override {
    Pieces pieces = piecesOf(map);
    std::erase_if(pieces.fresh, [](const RowMove& m) { return m.from == m.to; });
    std::vector<RowMove> shifts;
    const std::vector<RowMove>& s = pieces.survivors;
    const std::int32_t end = s.empty() ? 0 : s.back().to + s.back().count;  // after all splices
    for (std::size_t k = s.size(); k-- > 0;) {
      const std::int32_t before = k ? s[k - 1].to - s[k - 1].from : 0;
      const std::int32_t by = s[k].to - s[k].from - before;
      if (by != 0) shifts.push_back({s[k].from, s[k].from + by, end - s[k].to});
    }
    return ReadyMoves::of(pool, std::move(shifts), pieces.fresh);
  }
};

}  // namespace

std::unique_ptr<StorageLayout> makeContiguousSplice(int) { return std::make_unique<ContiguousSplice>(); }

}  // namespace kvlab
