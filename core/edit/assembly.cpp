// SPDX-License-Identifier: Apache-2.0
#include "core/edit/assembly.h"

#include <algorithm>
#include <numeric>

namespace kvlab {
/// Lists the copies from the slots `from` of the pool to the places `to` of the assembled copy.
void Assemblies::copies(Lists& lists, ReadPath path) const {
  if (path == ReadPath::Roll) {  // in slot order for dequantising, each row to its rolled place
    std::vector<std::size_t> order(lists.from.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lists.from[a] < lists.from[b]; });
    const Lists old = lists;
    for (std::size_t i = 0; i < order.size(); ++i) {
      lists.from[i] = old.from[order[i]];
      lists.to[i] = old.to[order[i]];
      lists.tags[i] = old.tags[order[i]];
    }
    return;
  }
  for (std::size_t i = 0; i < lists.from.size(); ++i) {
    std::vector<kernels::RowMove>& moves = lists.moves;
    const bool goesOn = path == ReadPath::TwoSlices && !moves.empty() &&
        moves.back().from + moves.back().count == lists.from[i] && moves.back().to + moves.back().count == lists.to[i];
    if (goesOn) ++moves.back().count;
    else moves.push_back({lists.from[i], lists.to[i], 1});
  }
  // Always two copies, so that shapes are the same with and without a wrap.
  while (path == ReadPath::TwoSlices && lists.moves.size() < 2) lists.moves.push_back({0, 0, 0});
}

Assembled Assemblies::make(const LayerGroup& group, const GroupPass& pass, std::int64_t begin, std::int64_t n,
                           std::int64_t rows, const kernels::RowFormat& format, const RowTarget* targets,
                           const std::int32_t* self, bool guarded) {
  Assembled out;
  if (group.read == ReadPath::InPlace) return out;
  const ResidencyView& map = *group.map;
  std::int32_t first = group.tailOnly ? pass.rowEnd[at(begin)] : map.first, last = first;
  for (std::int64_t i = begin; i < begin + n; ++i) {
    first = std::min(first, pass.rowBegin[at(i)]);
    last = std::max(last, pass.rowEnd[at(i)]);
  }
  // A long prompt has overwritten rows that none of its later queries attends to.
  first = std::max({first, map.first, last - group.ring->capacity});
  Lists& lists = m_lists.emplace_back();
  lists.slots.assign(at(rows), 0);
  for (std::int32_t i = first; i < last; ++i) {
    lists.slots[at(i)] = static_cast<std::int32_t>(lists.from.size());
    lists.to.push_back(lists.slots[at(i)]);
    lists.from.push_back(map.slotOf[at(i)].value());
    lists.tags.push_back(static_cast<std::uint64_t>(map.ledger[at(i)].value()));
  }
  for (std::int64_t i = 0; self && i < n; ++i) {
    lists.self.push_back(self[i] < 0 ? -1 : static_cast<std::int32_t>(lists.from.size()));
    if (self[i] < 0) continue;
    lists.to.push_back(lists.self.back());
    lists.from.push_back(self[i]);
    lists.tags.push_back(static_cast<std::uint64_t>(targets[i].id.value()));
  }
  const std::size_t copied = lists.from.size();
  copies(lists, group.read);
  out.format = format;
  if (group.read == ReadPath::Roll) out.format.k = out.format.v = kernels::DType::f32;
  out.records = m_staging.temporary<std::uint8_t>(copied * at(kernels::rowLayout(out.format).stride));
  out.slots = m_staging.in(lists.slots);
  out.self = lists.self.empty() ? nullptr : m_staging.in(lists.self);
  out.to = m_staging.in(lists.to);
  out.tags = m_staging.in(lists.tags);
  out.rows = static_cast<std::int64_t>(copied);
  if (group.read == ReadPath::Roll) {
    const std::size_t values = copied * at(std::int64_t{format.kvHeads} * format.headDim);
    out.from = m_staging.in(lists.from);
    out.k = m_staging.temporary<float>(values);
    out.v = m_staging.temporary<float>(values);
  } else {
    out.moves = m_staging.in(lists.moves);
    out.nMoves = static_cast<std::int64_t>(lists.moves.size());
  }
  if (guarded) out.verdicts = m_staging.temporary<std::uint8_t>(copied);
  return out;
}

std::int64_t Assemblies::wrong() const { return std::accumulate(m_wrong.begin(), m_wrong.end(), std::int64_t{0}); }

}  // namespace kvlab
