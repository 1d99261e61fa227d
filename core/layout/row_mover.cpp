// SPDX-License-Identifier: Apache-2.0
#include "core/layout/row_mover.h"

#include "core/model/decoder/backend_status.h"

namespace kvlab {
namespace {

using kernels::RowMove;

bool overlap(std::int32_t a, std::int32_t b, std::int32_t countA, std::int32_t countB) {
  return a < b + countB && b < a + countA;
}

/// An order in which the moves can be made, and the moves whose rows must first be copied to a side buffer.
struct Order {
  std::vector<RowMove> moves;
  std::vector<RowMove> aside;  // copied to the side buffer first, moved to their slots last
};

Order orderOf(std::vector<RowMove> left) {
  Order order;
  while (!left.empty()) {
    const std::size_t before = left.size();
    for (std::size_t i = 0; i < left.size();) {
      const RowMove m = left[i];
      bool blocked = false;
      for (std::size_t j = 0; j < left.size() && !blocked; ++j)
        blocked = j != i && overlap(m.to, left[j].from, m.count, left[j].count);
      if (blocked) {
        ++i;
        continue;
      }
      order.moves.push_back(m);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (left.size() < before) continue;
    // The moves form a cycle, which the shortest run breaks.
    std::size_t shortest = 0;
    for (std::size_t i = 1; i < left.size(); ++i)
      if (left[i].count < left[shortest].count) shortest = i;
    order.aside.push_back(left[shortest]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(shortest));
  }
  return order;
}

}  // namespace

void addMove(std::vector<RowMove>& moves, std::int32_t from, std::int32_t to) {
  if (!moves.empty() && moves.back().from + moves.back().count == from && moves.back().to + moves.back().count == to)
    ++moves.back().count;
  else moves.push_back({from, to, 1});
}

Result<std::int64_t> moveAll(RowPool& pool, std::vector<RowMove> moves) {
  std::erase_if(moves, [](const RowMove& m) { return m.from == m.to; });
  const Order order = orderOf(std::move(moves));
  std::int64_t rows = 0;
  std::int32_t aside = 0;
  std::vector<RowMove> out, back;
  for (const RowMove& m : order.aside) {
    out.push_back({m.from, aside, m.count});
    back.push_back({aside, m.to, m.count});
    aside += m.count;
  }
  for (const RowMove& m : order.moves) rows += m.count;
  if (aside == 0) {
    pool.move(pool, order.moves);
    return 2 * rows * pool.stride();
  }
  Result<RowPool> side = RowPool::create(pool.backend(), pool.format(), aside);
  if (!side) return side.error();
  side->move(pool, out);
  pool.move(pool, order.moves);
  pool.move(*side, back);
  if (Status done = backendStatus(pool.backend(), "moving rows"); !done) return done.error();
  return 2 * (rows + 2 * aside) * pool.stride();
}

}  // namespace kvlab
