// SPDX-License-Identifier: Apache-2.0
// Known bugs of KV caches, to be planted on purpose in a session that allows faults. A bug bends what live passes are
// told, what they wrote, or what a change made of the state. It never reaches a rebuild, the planner or a check, so
// that these stay right while the cache is wrong. Engine thread.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/state/cache_state.h"
#include "core/state/cache_store.h"

namespace kvlab {

/// One call of a live pass for the rows of a chunk in a cache layer, before it is made. Lists may grow.
struct PassBend {
  std::vector<std::int32_t> phase = {}, begin = {}, end = {}, written = {};  // [n]
  std::vector<std::int32_t> slots = {}, phases = {};                         // [rows] the layer's map
  int window = 0;                                                            // 0 = none
  std::int64_t before = 0;  // rows of the same pass that were computed earlier
  bool partly = false;      // a ring that is not full
  std::int32_t poolSlots = 0;
};

/// What a pass has written in a cache layer.
struct WrittenBend {
  RowPool& pool;
  std::span<const std::int32_t> slots;
  std::int32_t length = 0;  // of the context
};

/// What a change made, before it becomes the state.
struct StateBend {
  CacheState& state;
  CacheStore& store;
};

struct BugKind {
  std::string_view name;
  std::string_view title;
  void (*pass)(PassBend&) = nullptr;
  void (*written)(const WrittenBend&) = nullptr;
  void (*state)(StateBend&) = nullptr;
};

/// All of bugs.inc, in its order.
std::span<const BugKind* const> bugKinds();
/// Null: there is none of the name.
const BugKind* bugNamed(std::string_view name);

}  // namespace kvlab
