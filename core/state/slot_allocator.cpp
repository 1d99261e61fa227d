// SPDX-License-Identifier: Apache-2.0
#include "core/state/slot_allocator.h"

#include <cstring>
#include <numeric>

namespace kvlab {
namespace {

template <class IsFree>
bool anyOf(std::span<const SlotRange> runs, const IsFree& isFree) {
  return std::ranges::any_of(runs, [&](const SlotRange& run) {
    for (std::int32_t i = 0; i < run.count; ++i)
      if (isFree(Slot(run.first.value() + i))) return true;
    return false;
  });
}

}  // namespace

std::vector<SlotRange> runsOf(std::span<const Slot> slots) {
  std::vector<SlotRange> out;
  for (std::size_t begin = 0, end = 0; begin < slots.size(); begin = end) {
    for (end = begin + 1; end < slots.size() && slots[end].value() == slots[end - 1].value() + 1;) ++end;
    out.push_back({slots[begin], static_cast<std::int32_t>(end - begin)});
  }
  return out;
}

void removeSlots(std::vector<Slot>& from, std::vector<Slot> less) {
  if (less.empty()) return;
  std::ranges::sort(less);
  std::erase_if(from, [&](Slot slot) { return std::ranges::binary_search(less, slot); });
}

std::vector<bool> SlotAllocator::free(std::int32_t below) const {
  std::vector<bool> out(at(below));
  for (std::int32_t slot = 0; slot < below; ++slot) out[at(slot)] = isFree(Slot(slot));
  return out;
}

// --- any free slot -----------------------------------------------------------------------------------

void FreeSlots::take(std::int32_t count, std::vector<Slot>& out, Placing, Slot) {
  const std::size_t most = m_taken.size() + at(count);
  if (m_taken.capacity() < most) m_taken.reserve(std::max(most, 2 * m_taken.capacity()));
  out.reserve(out.size() + at(count));
  m_used += count;
  for (; count > 0; --count) {
    const std::size_t rest = m_taken.size() - m_lowest;
    const void* const next = rest ? std::memchr(&m_taken[m_lowest], 0, rest) : nullptr;
    m_lowest = next ? at(static_cast<const std::uint8_t*>(next) - m_taken.data()) : m_taken.size();
    if (m_lowest == m_taken.size()) m_taken.push_back(0);
    out.emplace_back(static_cast<std::int32_t>(m_lowest));
    m_taken[m_lowest++] = 1;
  }
  touch(static_cast<std::int32_t>(m_taken.size()));
}

void FreeSlots::give(std::span<const Slot> slots) {
  for (const Slot slot : slots) {
    m_taken[at(slot)] = 0;
    m_lowest = std::min(m_lowest, at(slot));
  }
  m_used -= static_cast<std::int32_t>(slots.size());
}

void FreeSlots::restart(std::span<const SlotRange> taken) {
  m_taken.clear();
  m_used = 0, m_lowest = 0;
  for (const SlotRange& run : taken) {
    m_taken.resize(std::max(m_taken.size(), at(run.first) + at(run.count)));
    claim(run);
  }
  touch(static_cast<std::int32_t>(m_taken.size()));
}

bool FreeSlots::anyFree(std::span<const SlotRange> runs) const {
  return std::ranges::any_of(runs, [this](const SlotRange& run) {
    const std::size_t first = at(run.first), count = at(run.count);
    if (count == 1 || first + count > m_taken.size()) return isFree(Slot(run.first.value() + run.count - 1));
    return std::memchr(&m_taken[first], 0, count) != nullptr;
  });
}

std::optional<std::int32_t> FreeSlots::end() const {
  auto end = static_cast<std::int32_t>(m_taken.size());
  while (end > 0 && isFree(Slot(end - 1))) --end;
  return end;
}

void FreeSlots::resize(std::int32_t slots) {
  m_taken.resize(at(*end()));
  m_lowest = std::min(m_lowest, m_taken.size());
  touchedOnly(static_cast<std::int32_t>(m_taken.size()));
  m_slots = slots;
}

void FreeSlots::claim(std::span<const Slot> slots) {
  for (const SlotRange& run : runsOf(slots)) claim(run);
}

void FreeSlots::claim(const SlotRange& run) {
  std::uint8_t* const first = &m_taken[at(run.first)];
  m_used += static_cast<std::int32_t>(std::count(first, first + run.count, std::uint8_t{0}));
  std::fill_n(first, run.count, std::uint8_t{1});
}

// --- one after another -------------------------------------------------------------------------------

void RunSlots::take(std::int32_t count, std::vector<Slot>& out, Placing, Slot) {
  out.reserve(out.size() + at(count));
  for (std::int32_t i = 0; i < count; ++i) out.push_back(Slot((m_next + i) % m_slots));
  touch(std::min(m_slots, m_next + count));
  m_next = (m_next + count) % m_slots;
  m_free -= count;
}

/// These must be the last slots taken: nothing else is returned before a commit.
void RunSlots::give(std::span<const Slot> slots) {
  const auto count = static_cast<std::int32_t>(slots.size());
  m_next = (m_next + m_slots - count % m_slots) % m_slots;
  m_free += count;
}

void RunSlots::restart(std::span<const SlotRange> taken) {
  std::int32_t rows = 0, next = 0;
  for (const SlotRange& run : taken) {
    next = run.first.value() + run.count;
    rows += run.count;
    touch(next);
  }
  place(next % m_slots, m_lap - rows);
}

void RunSlots::place(std::int32_t next, std::int32_t free) {
  m_next = next;
  m_free = free;
}

/// In a pool of two laps only free slots of the present lap count; the other lap is for the next edit.
bool RunSlots::isFree(Slot slot) const {
  const bool known = slot.value() >= 0 && slot.value() < m_slots;
  return known && (slot.value() + m_slots - m_next % m_slots) % m_slots < m_free;
}

bool RunSlots::anyFree(std::span<const SlotRange> runs) const {
  return anyOf(runs, [this](Slot slot) { return RunSlots::isFree(slot); });
}

// --- pages -------------------------------------------------------------------------------------------

PageSlots::PageSlots(std::int32_t slots, std::int32_t block)
    : m_block(block), m_taken(at(slots / block * block)), m_used(at(slots / block)) {
  restart({});
}

/// Scratch rows start a new page. The tail starts one if the page of the row before it is full.
bool PageSlots::fits(std::int32_t count, std::int32_t tail, Slot after) const {
  for (std::int32_t next = after.value() + 1; after.value() >= 0 && tail > 0; ++next, --tail)
    if (next % m_block == 0 || !isFree(Slot(next))) break;
  const auto pagesFor = [this](std::int32_t rows) { return (rows + m_block - 1) / m_block; };
  return pagesFor(count) + pagesFor(tail) <= m_freePages;
}

/// Room for the pages in use, and one more, to become free.
void PageSlots::roomToGive() {
  const std::size_t most = m_stack.size() + m_used.size() - at(m_freePages) + 1;
  if (m_stack.capacity() < most) m_stack.reserve(2 * most);
}

Slot PageSlots::takePage() {
  roomToGive();
  while (!m_stack.empty()) {
    const std::int32_t page = m_stack.back();
    m_stack.pop_back();
    if (m_used[at(page)] > 0) continue;
    const Slot first(page * m_block);
    takeSlot(first);
    return first;
  }
  return Slot(-1);
}

bool PageSlots::takeSlot(Slot slot) {
  if (!isFree(slot)) return false;
  roomToGive();
  const std::int32_t page = slot.value() / m_block;
  if (m_used[at(page)]++ == 0) --m_freePages;
  --m_free;
  m_taken[at(slot.value())] = true;
  touch(slot.value() + 1);
  return true;
}

Slot PageSlots::takeAny() {
  const Slot slot(static_cast<std::int32_t>(std::find(m_taken.begin(), m_taken.end(), false) - m_taken.begin()));
  takeSlot(slot);
  return slot;
}

void PageSlots::take(std::int32_t count, std::vector<Slot>& out, Placing placing, Slot after) {
  out.reserve(out.size() + at(count));
  Slot last = placing == Placing::Tail ? after : Slot(-1);
  for (; count > 0; --count) {
    Slot next(last.value() + 1);
    const bool goesOn = last.value() >= 0 && next.value() % m_block != 0 && takeSlot(next);
    if (!goesOn) next = placing == Placing::Look ? takeAny() : takePage();
    out.push_back(last = next);
  }
}

void PageSlots::give(std::span<const Slot> slots) {
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) {
    const std::int32_t page = slot->value() / m_block;
    m_taken[at(slot->value())] = false;
    ++m_free;
    if (--m_used[at(page)] > 0) continue;
    ++m_freePages;
    m_stack.push_back(page);
  }
}

void PageSlots::restart(std::span<const SlotRange> taken) {
  m_taken.assign(m_taken.size(), false);
  m_used.assign(m_used.size(), 0);
  m_stack.resize(m_used.size());
  std::iota(m_stack.rbegin(), m_stack.rend(), 0);
  m_freePages = pages();
  m_free = static_cast<std::int32_t>(m_taken.size());
  for (const SlotRange& run : taken)
    for (std::int32_t i = 0; i < run.count; ++i) takeSlot(Slot(run.first.value() + i));
}

bool PageSlots::isFree(Slot slot) const {
  return slot.value() >= 0 && at(slot.value()) < m_taken.size() && !m_taken[at(slot.value())];
}

bool PageSlots::anyFree(std::span<const SlotRange> runs) const {
  return anyOf(runs, [this](Slot slot) { return PageSlots::isFree(slot); });
}

}  // namespace kvlab
