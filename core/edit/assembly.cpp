// SPDX-License-Identifier: Apache-2.0
#include "core/edit/assembly.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace kvlab {
namespace {

/// True if rows lie one behind another in a ring.
bool inRingOrder(std::span<const std::int32_t> slots, std::int32_t capacity) {
  for (std::size_t i = 1; i < slots.size(); ++i)
    if (slots[i] != (slots[i - 1] + 1) % capacity) return false;
  return true;
}

}  // namespace

/// Lists the rows to dequantise: whole blocks that hold the first `rows` of the rows seen, in the order of the slots.
/// They roll so that the oldest row's block comes first in the copy; rows beside the map come behind.
void Assemblies::rollBlocks(Lists& lists, const RingState& ring, std::int32_t rows) {
  const std::int32_t head = lists.seen.front(), first = head - head % ring.block, all = ring.inBlocks(head, rows);
  for (std::int32_t i = 0; i < all; ++i) lists.from.push_back((first + i) % ring.capacity);
  std::sort(lists.from.begin(), lists.from.end());
  lists.tags.resize(at(all));
  for (std::int32_t i = 0; i < all; ++i) {
    const std::int32_t slot = lists.from[at(i)], row = (slot - head + ring.capacity) % ring.capacity;
    lists.to.push_back((slot - first + ring.capacity) % ring.capacity);
    if (row < rows) lists.tags[at(i)] = lists.seenTags[at(row)];
  }
  for (std::size_t i = at(rows); i < lists.seen.size(); ++i) {
    lists.from.push_back(lists.seen[i]);
    lists.to.push_back(static_cast<std::int32_t>(lists.to.size()));
    lists.tags.push_back(lists.seenTags[i]);
  }
}

/// Row after row: rows that a table does not list, because an edit waits or a row stands beside the map.
void Assemblies::takeInOrder(Lists& lists) {
  lists.from = lists.seen;
  lists.to.resize(lists.seen.size());
  std::iota(lists.to.begin(), lists.to.end(), 0);
  lists.tags = lists.seenTags;
}

/// Whole records in as few copies as there are runs, and always two, so that a wrap changes no shape.
void Assemblies::joinMoves(Lists& lists) {
  for (std::size_t i = 0; i < lists.seen.size(); ++i) {
    const auto to = static_cast<std::int32_t>(i);
    std::vector<kernels::RowMove>& moves = lists.moves;
    if (!moves.empty() && moves.back().from + moves.back().count == lists.seen[i]) ++moves.back().count;
    else moves.push_back({lists.seen[i], to, 1});
    lists.seen[i] = to;
  }
  while (lists.moves.size() < 2) lists.moves.push_back({0, 0, 0});
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
  last = std::max(first, last);  // queries whose rows the window has left behind see none
  Lists& lists = m_lists.emplace_back();
  for (std::int32_t i = first; i < last; ++i) {
    lists.seen.push_back(map.slotOf[at(i)].value());
    lists.seenTags.push_back(static_cast<std::uint64_t>(map.ledger[at(i)].value()));
  }
  const std::int32_t inMap = last - first;
  const bool rolls = group.read == ReadPath::Roll && inMap > 0 && inRingOrder(lists.seen, group.ring->capacity);
  const std::int32_t ahead = rolls ? lists.seen.front() % group.ring->block : 0;  // place of the oldest row
  lists.slots.assign(at(rows), 0);
  for (std::int32_t i = 0; i < inMap; ++i) lists.slots[at(first + i)] = (ahead + i) % group.ring->capacity;
  std::int32_t place = rolls ? group.ring->inBlocks(lists.seen.front(), inMap) : inMap;
  for (std::int64_t i = 0; self && i < n; ++i) {
    lists.self.push_back(self[i] < 0 ? -1 : place++);
    if (self[i] < 0) continue;
    lists.seen.push_back(self[i]);
    lists.seenTags.push_back(static_cast<std::uint64_t>(targets[i].id.value()));
  }
  out.slots = m_staging.in(lists.slots);
  out.self = lists.self.empty() ? nullptr : m_staging.in(lists.self);
  out.format = format;
  if (group.read == ReadPath::TwoSlices) {
    joinMoves(lists);
    out.moves = m_staging.in(lists.moves);
    out.nMoves = static_cast<std::int64_t>(lists.moves.size());
    out.rows = rows + n;
  } else {
    if (rolls) rollBlocks(lists, *group.ring, inMap);
    else takeInOrder(lists);
    dequantise(out, lists, group);
  }
  out.records = m_staging.temporary<std::uint8_t>(at(place) * at(kernels::rowLayout(out.format).stride));
  if (!guarded) return out;
  out.seen = m_staging.in(lists.seen);
  out.seenTags = m_staging.in(lists.seenTags);
  out.nSeen = static_cast<std::int64_t>(lists.seen.size());
  out.verdicts = m_staging.temporary<std::uint8_t>(lists.seen.size());
  return out;
}

/// Through a table that is held, where one lists just these rows.
void Assemblies::dequantise(Assembled& out, const Lists& lists, const LayerGroup& group) {
  std::span<const std::int32_t> from = lists.from;
  if (group.tables && !from.empty() && from.size() <= at(group.ring->capacity))
    if (const auto held = group.tables->rows(from.front(), from.size()); std::ranges::equal(held, from)) from = held;
  const std::size_t values = from.size() * at(std::int64_t{out.format.kvHeads} * out.format.headDim);
  out.format.k = out.format.v = kernels::DType::f32;
  out.from = m_staging.in(from);
  out.to = m_staging.in(lists.to);
  out.tags = m_staging.in(lists.tags);
  out.rows = static_cast<std::int64_t>(from.size());
  out.k = m_staging.temporary<float>(values);
  out.v = m_staging.temporary<float>(values);
}

std::int64_t Assemblies::wrong() const { return std::accumulate(m_wrong.begin(), m_wrong.end(), std::int64_t{0}); }

}  // namespace kvlab
