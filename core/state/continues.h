// SPDX-License-Identifier: Apache-2.0
// How far two columns are the same. Engine thread.
#pragma once
#include <algorithm>

#include "core/api/column.h"

namespace kvlab {

/// Number of values with which both columns begin. It costs nothing where they share a buffer.
template <class T>
std::size_t alike(const Column<T>& a, const Column<T>& b) {
  const std::size_t both = std::min(a.size(), b.size());
  if (a.prefix(both).sharesWith(b.prefix(both))) return both;
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.begin() + both, b.begin()).first - a.begin());
}

/// True if `now` begins with all of `old`.
template <class T>
bool continues(const Column<T>& now, const Column<T>& old) {
  return alike(now, old) == old.size();
}

}  // namespace kvlab
