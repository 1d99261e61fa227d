// SPDX-License-Identifier: GPL-3.0-or-later
// The position of a row in the context of a snapshot. Pure.
#pragma once
#include <algorithm>

#include "core/api/snapshot.h"

namespace kvlab {

/// Position of a row in the context, -1 if the row is not there. Looks at `guess` first.
inline int placeIn(const Snapshot& s, LedgerId id, int guess) {
  if (id.value() < 0) return -1;
  if (guess >= 0 && guess < s.length() && s.context[at(guess)] == id) return guess;
  const auto found = std::find(s.context.begin(), s.context.end(), id);
  return found == s.context.end() ? -1 : static_cast<int>(found - s.context.begin());
}

}  // namespace kvlab
