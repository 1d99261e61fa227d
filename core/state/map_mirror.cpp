// SPDX-License-Identifier: Apache-2.0
#include "core/state/map_mirror.h"

#include <algorithm>

namespace kvlab {

const std::int32_t* MirroredColumn::update(kernels::Backend& backend, std::span<const std::int32_t> now,
                                           std::int64_t room) {
  if (backend.onHost()) return now.data();
  if (m_copy.size() < static_cast<std::int64_t>(now.size())) {
    m_last.clear();
    if (!m_copy.allocate(backend, std::max(room, static_cast<std::int64_t>(now.size())))) return nullptr;
  }
  const std::size_t common = std::min(now.size(), m_last.size());
  const auto first =
      std::mismatch(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(common), m_last.begin()).first;
  auto last = now.end();
  if (now.size() <= m_last.size())
    while (last != first && *(last - 1) == m_last[static_cast<std::size_t>(last - now.begin()) - 1]) --last;
  const auto begin = static_cast<std::size_t>(first - now.begin()), size = static_cast<std::size_t>(last - first);
  if (size == 0) return m_copy.data();
  m_copy.write(static_cast<std::int64_t>(begin), now.subspan(begin, size));
  m_last.resize(std::max(m_last.size(), now.size()));
  std::copy(first, last, m_last.begin() + static_cast<std::ptrdiff_t>(begin));
  m_sent += static_cast<std::int64_t>(size * sizeof(std::int32_t));
  return m_copy.data();
}

MapMirror::View MapMirror::update(kernels::Backend& backend, std::size_t group, std::span<const std::int32_t> slots,
                                  std::span<const std::int32_t> phases, std::int64_t room) {
  while (m_groups.size() <= group) m_groups.emplace_back();
  Pair& pair = m_groups[group];
  return {pair.slots.update(backend, slots, room), pair.phases.update(backend, phases, room)};
}

std::int64_t MapMirror::sent() const {
  std::int64_t bytes = 0;
  for (const Pair& pair : m_groups) bytes += pair.slots.sent() + pair.phases.sent();
  return bytes;
}

}  // namespace kvlab
