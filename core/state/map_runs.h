// SPDX-License-Identifier: Apache-2.0
// Rows that two residency maps of a context have in common, as runs: after a tick under a policy a map is a few long
// runs of the map before it. Pure; any thread.
#pragma once
#include <algorithm>
#include <cstring>
#include <span>

#include "core/api/ids.h"

namespace kvlab {

/// Number of values with which both lists begin; compared in blocks, because lists are mostly alike.
template <class T>
std::size_t alikeInFront(std::span<const T> a, std::span<const T> b) {
  constexpr std::size_t kBlock = 128;
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t i = 0;
  while (i + kBlock <= most && std::memcmp(&a[i], &b[i], kBlock * sizeof(T)) == 0) i += kBlock;
  while (i < most && a[i] == b[i]) ++i;
  return i;
}

/// Calls visit(index in old, index in now, rows) for each run of rows that stand one behind another in both lists, in
/// order. Rows of either list that the other lacks, or has elsewhere, are in no run. Both are in context order.
template <class Visit>
void forCommonRuns(std::span<const LedgerId> old, std::span<const LedgerId> now, Visit visit) {
  LedgerId newest(-1);  // of the old list, once it is needed: most rows that it lacks are newer
  for (std::size_t i = 0, j = 0; i < now.size() && j < old.size();) {
    if (old[j] != now[i]) {
      if (newest.value() < 0) newest = std::ranges::max(old);
      if (now[i] > newest) {
        ++i;
        continue;
      }
      const auto found = std::find(old.begin() + static_cast<std::ptrdiff_t>(j), old.end(), now[i]);
      if (found == old.end()) ++i;
      else j = static_cast<std::size_t>(found - old.begin());
      continue;
    }
    const std::size_t rows = alikeInFront(old.subspan(j), now.subspan(i));
    visit(j, i, rows);
    i += rows;
    j += rows;
  }
}

}  // namespace kvlab
