// SPDX-License-Identifier: Apache-2.0
// Known bugs of KV caches, to be planted on purpose in a session that allows faults. A bug corrupts the inputs of live
// passes, their output, or the state that a change made. It never reaches a rebuild, the planner or a check, so that
// these stay right while the cache is wrong. Engine thread.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/api/action.h"
#include "core/model/decoder/placed_weights.h"
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

/// Rows that a pass has written in a cache layer.
struct WrittenBend {
  RowPool& pool;
  std::span<const std::int32_t> slots;
  std::int32_t length = 0;  // tokens of the context
};

/// The new state that a change made, before it becomes the session's state.
struct StateBend {
  CacheState& state;
  CacheStore& store;
  const CacheState& before;
  LayerSlots& freed;  // [layers] slots that history gives back one day

  /// The last rows of the context have left it.
  bool cutsTail() const { return state.length() < before.length(); }
};

/// Query heads of some rows on their way to attention, or the output of attention on the way back.
struct HeadsBend {
  float* values;  // [n, stride], the heads first
  std::int64_t n, stride;
  int heads, kvHeads, headDim;
  bool back;
};

struct BugKind {
  std::string_view name;
  std::string_view title;
  void (*pass)(PassBend&) = nullptr;
  void (*written)(const WrittenBend&) = nullptr;
  void (*state)(StateBend&) = nullptr;
  void (*heads)(const HeadsBend&) = nullptr;
  /// Calls `turn`, which turns stored keys to their new phases.
  void (*turning)(const CacheState&, CacheStore&, const std::function<void()>& turn) = nullptr;
  void (*imported)(CacheState&) = nullptr;
  void (*evicted)(std::vector<Evict>&) = nullptr;
  /// The length of the context that frequencies follow.
  std::int64_t (*reach)(const ModelConfig&, std::int64_t reach) = nullptr;
  /// Weights that take the place of the session's while the bug is planted.
  std::shared_ptr<const PlacedWeights> (*weights)(std::shared_ptr<const PlacedWeights>) = nullptr;
  bool fullLaps = false;  // a chunk may fill a ring and leave no room for the rows that its first queries read
};

/// All of them, in the order of lists.
std::span<const BugKind> bugKinds();
/// The bug that a seed draws.
const BugKind& bugDrawn(std::uint64_t seed);
/// Null: there is none of the name.
const BugKind* bugNamed(std::string_view name);

}  // namespace kvlab
