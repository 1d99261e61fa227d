// SPDX-License-Identifier: Apache-2.0
// A node of the wLOD tree: a node of level n covers 32^n moments of the time line and starts at a multiple
// of 32^n. Level 0 is a token, levels 1 and 2 are gists. semantics.md, section 8. Values; any thread.
#pragma once
#include <compare>
#include <cstdint>
#include <string>

#include "core/api/ids.h"

namespace kvlab {

using Moment = StrongId<struct MomentTag, std::int32_t>;  // place on the time line of a wLOD session

inline constexpr std::int32_t kGistBlock = 32;  // children of a node
inline constexpr int kTopLevel = 2;
inline constexpr std::int32_t kMostMoments = 1 << 30;
constexpr std::int32_t spanOf(int level) { return level == 0 ? 1 : level == 1 ? kGistBlock : kGistBlock * kGistBlock; }

/// Moments [begin, end).
struct Moments {
  std::int32_t begin = 0, end = 0;
  bool overlaps(const Moments& other) const { return begin < other.end && other.begin < end; }
  bool contains(const Moments& other) const { return begin <= other.begin && other.end <= end; }
  bool operator==(const Moments&) const = default;
};

struct TreeNode {
  std::int32_t level = 0, start = 0;

  /// Scripts see start * 4 + level. An id that no time line reaches gives a node of level -1.
  static constexpr TreeNode of(NodeId id) {
    if (id.value() < 0 || id.value() >> 2 >= kMostMoments) return {-1, 0};
    return {static_cast<std::int32_t>(id.value() & 3), static_cast<std::int32_t>(id.value() >> 2)};
  }
  constexpr NodeId id() const { return NodeId(std::int64_t{start} * 4 + level); }
  constexpr std::int32_t span() const { return spanOf(level); }
  constexpr std::int32_t end() const { return start + span(); }
  constexpr Moments moments() const { return {start, end()}; }
  constexpr bool aligned() const { return level >= 0 && level <= kTopLevel && start >= 0 && start % span() == 0; }
  constexpr TreeNode child(std::int32_t i) const { return {level - 1, start + i * spanOf(level - 1)}; }
  /// The node of another level that holds the start.
  constexpr TreeNode at(int other) const { return {other, start / spanOf(other) * spanOf(other)}; }
  /// Rotary phase: the centre of a gist, the place of a token.
  constexpr std::int32_t phase() const { return start + span() / 2 * (level > 0); }
  std::string text() const {
    return level == 0
        ? "token " + std::to_string(start)
        : "LOD" + std::to_string(level) + " [" + std::to_string(start) + ", " + std::to_string(end()) + ")";
  }
  constexpr auto operator<=>(const TreeNode&) const = default;
};

}  // namespace kvlab
