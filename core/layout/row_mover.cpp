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

Result<ReadyMoves> ReadyMoves::of(RowPool& pool, std::vector<RowMove> moves) {
  std::erase_if(moves, [](const RowMove& m) { return m.from == m.to; });
  Order order = orderOf(std::move(moves));
  return of(pool, std::move(order.moves), order.aside);
}

Result<ReadyMoves> ReadyMoves::of(RowPool& pool, std::vector<RowMove> moves, const std::vector<RowMove>& aside) {
  ReadyMoves out(pool);
  std::int32_t rows = 0;
  for (const RowMove& m : aside) {
    out.m_out.push_back({m.from, rows, m.count});
    out.m_back.push_back({rows, m.to, m.count});
    rows += m.count;
  }
  out.m_moves = std::move(moves);
  if (rows > 0) out.m_side = KV_TRY(RowPool::create(pool.backend(), pool.format(), rows));
  return out;
}

Result<ReadyMoves> ReadyMoves::back() const {
  const auto reversed = [](const std::vector<RowMove>& moves) {
    std::vector<RowMove> out;
    for (auto m = moves.rbegin(); m != moves.rend(); ++m) out.push_back({m->to, m->from, m->count});
    return out;
  };
  ReadyMoves out(*m_pool);
  out.m_out = reversed(m_back);
  out.m_moves = reversed(m_moves);
  out.m_back = reversed(m_out);
  if (!m_out.empty()) out.m_side = KV_TRY(RowPool::create(m_pool->backend(), m_pool->format(), m_side.slots()));
  return out;
}

Result<std::int64_t> ReadyMoves::run() {
  m_side.move(*m_pool, m_out);
  m_pool->move(*m_pool, m_moves);
  m_pool->move(m_side, m_back);
  KV_TRY(backendStatus(m_pool->backend(), "moving rows"));
  std::int64_t rows = 0;
  for (const std::vector<RowMove>* moves : {&m_out, &m_moves, &m_back}) rows += kernels::rowsOf(*moves);
  return 2 * rows * m_pool->stride();
}

Result<std::int64_t> moveAll(RowPool& pool, std::vector<RowMove> moves) {
  ReadyMoves ready = KV_TRY(ReadyMoves::of(pool, std::move(moves)));
  return ready.run();
}

}  // namespace kvlab
