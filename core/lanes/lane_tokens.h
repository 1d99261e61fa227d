// SPDX-License-Identifier: Apache-2.0
// The tokens that a session took in order, each with its ledger id, independent of later edits. Lanes compare their
// residency by these tokens. Owned by a lane; engine thread.
#pragma once
#include <cstdint>
#include <vector>

#include "core/state/cache_state.h"

namespace kvlab {

class LaneTokens {
 public:
  /// Starts with the live tokens of a state.
  void start(const CacheState& state);
  /// Adds the tokens appended since the last call. Returns false if tokens were taken back.
  bool follow(const CacheState& state);

  std::size_t size() const { return m_taken.size(); }
  const Column<LedgerId>& taken() const { return m_taken; }  // [tokens]
  /// Index among the taken tokens, -1 = none.
  std::int32_t placeOf(LedgerId id) const {
    const auto i = static_cast<std::size_t>(id.value());
    return i < m_placeOf.size() ? m_placeOf[i] : -1;
  }
  /// [tokens] 1 = the token's row is in the map.
  std::vector<std::uint8_t> residents(const ResidencyView& map) const;

 private:
  void take(LedgerId id);

  Column<LedgerId> m_taken;
  std::vector<std::int32_t> m_placeOf;  // [ledger ids] index among the taken tokens, -1 = none
};

}  // namespace kvlab
