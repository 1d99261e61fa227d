// SPDX-License-Identifier: Apache-2.0
// The focus allocator of a wLOD session. Before a tick it adds expansions and collapses: in a round that is due, or to
// make room for new tokens. Engine thread. semantics.md, section 8.
#pragma once
#include "core/api/wlod_settings.h"
#include "core/kinds/wlod/kind/wlod_parts.h"
#include "core/parts/reviser.h"

namespace kvlab {

/// Number of tokens that a list of actions adds.
std::int32_t addsIn(const std::vector<Action>& actions);

class FocusReviser : public Reviser {
 public:
  /// The session's kind owns both and outlives this object.
  FocusReviser(const WlodParts& parts, const WlodSettings& settings) : m_parts(parts), m_settings(settings) {}
  Status before(CacheState& observed, TickPart& part, CallContext& call) const override;
  bool wantsTick(const CacheState& state, CallContext& call) const override;

 private:
  const WlodParts& m_parts;
  const WlodSettings& m_settings;
};

}  // namespace kvlab
