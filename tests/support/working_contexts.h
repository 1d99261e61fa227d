// SPDX-License-Identifier: Apache-2.0
// Random working contexts, and the properties of all of them.
#pragma once
#include <random>
#include <string>

#include "core/kinds/wlod/tree/working_context.h"

namespace kvlab {

inline constexpr WorkingRules kFreeRules{1 << 30, 0, 0};

inline WorkingContext tokens(std::int32_t count) { return *WorkingContext().appended(count, kFreeRules); }

/// The context after some edits that are legal without budget, tail and cooldown.
inline WorkingContext shuffled(WorkingContext context, std::mt19937& random, int edits) {
  for (int i = 0; i < edits; ++i) {
    const int level = 1 + static_cast<int>(random() % kTopLevel);
    const auto nodes = static_cast<std::uint32_t>(context.length() / spanOf(level));
    if (!nodes) continue;
    const LodEdit edit{random() % 3 == 0, {level, static_cast<std::int32_t>(random() % nodes) * spanOf(level)}};
    if (const auto next = context.edited(std::vector{edit}, kFreeRules)) context = next->context;
  }
  return context;
}

/// The flaw of a tiling; empty = nothing.
inline std::string flaw(const WorkingContext& context, std::int32_t length) {
  std::int32_t t = 0;
  for (const TreeNode entry : context.entries()) {
    if (!entry.aligned()) return entry.text() + " is not aligned";
    if (entry.start != t) return entry.text() + " does not start at " + std::to_string(t);
    t = entry.end();
  }
  return t == length ? "" : "the entries end at " + std::to_string(t) + ", the time line at " + std::to_string(length);
}

}  // namespace kvlab
