// SPDX-License-Identifier: Apache-2.0
// Brightness culling: a tick that generates replaces the dimmest pairs of tokens until the target is met. It skips
// tokens that the user's own actions refer to. Engine thread. semantics.md, section 4.
#pragma once
#include "core/parts/reviser.h"

namespace kvlab {

class Culling : public Reviser {
 public:
  Status before(CacheState& observed, TickPart& part, CallContext& call) const override;
};

}  // namespace kvlab
