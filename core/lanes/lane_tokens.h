// SPDX-License-Identifier: Apache-2.0
// The tokens that a session took in order, each with its ledger id and its loss, independent of later edits. Lanes
// compare their residency by these tokens. Owned by a lane; engine thread.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "core/state/cache_state.h"

namespace kvlab {

class LaneTokens {
 public:
  /// Starts with the live tokens of a state.
  void start(const CacheState& state);
  /// Adds the tokens appended since the last call. Returns false if tokens were taken back. before: the logits that
  /// the first of them was taken from, or null; `taken` becomes its loss by them, which is no number without both.
  bool follow(const CacheState& state, const std::vector<float>* before, double& taken);
  bool follow(const CacheState& state) {
    double none = 0;
    return follow(state, nullptr, none);
  }
  /// Number of tokens in front of the first one that the state has taken back.
  std::size_t known(const CacheState& state) const;
  /// The same tokens, for another thread.
  LaneTokens ownCopy() const;

  std::size_t size() const { return m_taken.size(); }
  const Column<LedgerId>& taken() const { return m_taken; }  // [tokens]
  const Column<float>& losses() const { return m_losses; }   // [tokens] -ln p, nats; NaN = not measured
  /// Index among the taken tokens, -1 = none.
  std::int32_t placeOf(LedgerId id) const {
    const auto i = static_cast<std::size_t>(id.value());
    return i < m_placeOf.size() ? m_placeOf[i] : -1;
  }
  /// [tokens] 1 = the token's row is in the map.
  std::vector<std::uint8_t> residents(const ResidencyView& map) const;

 private:
  void take(LedgerId id, float loss);

  Column<LedgerId> m_taken;
  Column<float> m_losses;
  std::vector<std::int32_t> m_placeOf;  // [ledger ids] index among the taken tokens, -1 = none
};

}  // namespace kvlab
