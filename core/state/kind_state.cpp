// SPDX-License-Identifier: Apache-2.0
#include "core/state/kind_state.h"

namespace kvlab {

std::shared_ptr<const KindState> KindState::ownCopy() const { return plainKindState(); }

const std::shared_ptr<const KindState>& plainKindState() {
  static const auto state = std::make_shared<const KindState>();
  return state;
}

}  // namespace kvlab
