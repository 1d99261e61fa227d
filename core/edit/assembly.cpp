// SPDX-License-Identifier: Apache-2.0
#include "core/edit/assembly.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace kvlab {
namespace {

constexpr kernels::RowMove kNoMove{0, 0, 0};

std::vector<RingRun> runsOf(std::span<const std::int32_t> slots) {
  std::vector<RingRun> out;
  for (const std::int32_t slot : slots)
    if (!out.empty() && out.back().begin + out.back().count == slot) ++out.back().count;
    else out.push_back({slot, 1});
  return out;
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
  while (lists.moves.size() < 2) lists.moves.push_back(kNoMove);
}

/// The rows that queries of a chunk see.
Assemblies::Span Assemblies::seenBy(const LayerGroup& group, const GroupPass& pass, const AssemblyChunk& chunk) {
  const std::int32_t oldest = group.map->first;
  Span span;
  span.first = span.last = group.tailOnly ? pass.rowEnd[at(chunk.begin)] : oldest;
  for (std::int64_t i = chunk.begin; i < chunk.begin + chunk.n; ++i) {
    span.first = std::min(span.first, pass.rowBegin[at(i)]);
    span.last = std::max(span.last, pass.rowEnd[at(i)]);
  }
  // A long prompt has overwritten rows that none of its later queries attends to.
  span.first = std::max({span.first, oldest, span.last - group.ring->capacity});
  span.last = std::max(span.first, span.last);  // queries whose rows the window has left behind see none
  return span;
}

Assembled Assemblies::make(std::size_t number, const LayerGroup& group, const GroupPass& pass,
                           const kernels::RowFormat& format, const AssemblyChunk& chunk) {
  Assembled out;
  if (group.read == ReadPath::InPlace) return out;
  out.format = format;
  const Span span = seenBy(group, pass, chunk);
  // An edit that waits puts rows elsewhere; so does damage.
  const bool ordered = m_reads.inOrder(number, *group.map, span.first, span.last, group.ring->capacity);
  out.held = ordered && !chunk.self && !chunk.bent && group.read != ReadPath::Roll;
  if (out.held) takeHeld(out, group, span, chunk);
  else takeListed(out, group, span, ordered && group.read == ReadPath::Roll, chunk);
  if (chunk.guarded) out.verdicts = m_staging.temporary<std::uint8_t>(at(out.nSeen));
  return out;
}

/// Nothing is listed: the oldest row's slot chooses a stretch of the table, or the two pieces of the window.
void Assemblies::takeHeld(Assembled& out, const LayerGroup& group, Span span, const AssemblyChunk& chunk) {
  const std::int32_t rows = span.rows(), head = group.map->slotOf[at(span.first)].value();
  out.slots = m_reads.placesFrom(m_backend, m_staging, span.first, span.last, chunk.rows);
  const std::int32_t* const places = m_reads.places(m_backend, rows);
  const std::int32_t* seen = places;
  Lists& lists = m_lists.emplace_back();
  const std::int32_t ahead = std::min(rows, group.ring->capacity - head);
  m_runs = {{head, ahead}, {0, rows - ahead}};
  if (group.read == ReadPath::TwoSlices) {
    lists.moves = {{head, 0, ahead}, rows > ahead ? kernels::RowMove{0, ahead, rows - ahead} : kNoMove};
    takeMoves(out, lists, rows);
  } else {
    const RingReads::Rows held = m_reads.rows(m_backend, m_staging, group.tables, head, rows);
    seen = held.slots;
    dequantise(out, {rows, held.slots, places, held.tags});
  }
  makeRoom(out);
  if (!chunk.guarded) return;
  for (const LedgerId id : group.map->ledger.span().subspan(at(span.first), at(rows)))
    lists.seenTags.push_back(static_cast<std::uint64_t>(id.value()));
  out.seen = seen;
  out.seenTags = m_staging.in(lists.seenTags);
  out.nSeen = rows;
}

void Assemblies::takeListed(Assembled& out, const LayerGroup& group, Span span, bool rolls,
                            const AssemblyChunk& chunk) {
  const ResidencyView& map = *group.map;
  Lists& lists = m_lists.emplace_back();
  for (std::int32_t i = span.first; i < span.last; ++i) {
    lists.seen.push_back(map.slotOf[at(i)].value());
    lists.seenTags.push_back(static_cast<std::uint64_t>(map.ledger[at(i)].value()));
  }
  const std::int32_t ahead = rolls ? lists.seen.front() % group.ring->block : 0;  // place of the oldest row
  lists.slots.assign(at(chunk.rows), 0);
  for (std::int32_t i = 0; i < span.rows(); ++i) lists.slots[at(span.first + i)] = (ahead + i) % group.ring->capacity;
  std::int32_t place = rolls ? group.ring->inBlocks(lists.seen.front(), span.rows()) : span.rows();
  for (std::int64_t i = 0; chunk.self && i < chunk.n; ++i) {
    lists.self.push_back(chunk.self[i] < 0 ? -1 : place++);
    if (chunk.self[i] < 0) continue;
    lists.seen.push_back(chunk.self[i]);
    lists.seenTags.push_back(static_cast<std::uint64_t>(chunk.targets[i].id.value()));
  }
  m_runs = runsOf(lists.seen);
  out.slots = m_staging.in(lists.slots);
  out.self = lists.self.empty() ? nullptr : m_staging.in(lists.self);
  if (group.read == ReadPath::TwoSlices) {
    joinMoves(lists);
    takeMoves(out, lists, place);
  } else {
    if (rolls) rollBlocks(lists, *group.ring, span.rows());
    else takeInOrder(lists);
    dequantise(out, {place, m_staging.in(lists.from), m_staging.in(lists.to), m_staging.in(lists.tags)});
  }
  makeRoom(out);
  if (!chunk.guarded) return;
  out.seen = m_staging.in(lists.seen);
  out.seenTags = m_staging.in(lists.seenTags);
  out.nSeen = static_cast<std::int64_t>(lists.seen.size());
}

/// Whole records.
void Assemblies::takeMoves(Assembled& out, const Lists& lists, std::int64_t rows) {
  out.moves = m_staging.in(lists.moves);
  out.nMoves = std::ssize(lists.moves);
  out.rows = rows;
}

void Assemblies::dequantise(Assembled& out, const Values& values) {
  const std::size_t count = at(values.rows * out.format.kvHeads * out.format.headDim);
  out.format.k = out.format.v = kernels::DType::f32;
  out.from = values.from;
  out.to = values.to;
  out.tags = values.tags;
  out.rows = values.rows;
  out.k = m_staging.temporary<float>(count);
  out.v = m_staging.temporary<float>(count);
}

void Assemblies::makeRoom(Assembled& out) {
  out.records = m_staging.temporary<std::uint8_t>(at(out.rows) * at(kernels::rowLayout(out.format).stride));
}

std::int64_t Assemblies::wrong() const { return std::accumulate(m_wrong.begin(), m_wrong.end(), std::int64_t{0}); }

}  // namespace kvlab
