// SPDX-License-Identifier: Apache-2.0
// The tokens that a session took in order, each with its ledger id, however often its context was edited
// in between: what lanes have in common. Owned by a lane; engine thread.
#pragma once
#include <cstdint>
#include <vector>

#include "core/state/cache_state.h"

namespace kvlab {

class LaneTokens {
 public:
  /// Begins with the live tokens of a state.
  void start(const CacheState& state);
  /// Adds what was appended since. False: the ledger goes another way than it did, tokens were taken back.
  bool follow(const CacheState& state);

  std::size_t size() const { return m_taken.size(); }
  const Column<LedgerId>& taken() const { return m_taken; }  // [tokens]
  /// -1: not one of them.
  std::int32_t placeOf(LedgerId id) const {
    const auto i = static_cast<std::size_t>(id.value());
    return i < m_placeOf.size() ? m_placeOf[i] : -1;
  }
  /// [tokens] 1 = its row is in the map.
  std::vector<std::uint8_t> residents(const ResidencyView& map) const;

 private:
  void take(LedgerId id);

  Column<LedgerId> m_taken;
  std::vector<std::int32_t> m_placeOf;  // [ledger so far]
};

}  // namespace kvlab
