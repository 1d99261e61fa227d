// SPDX-License-Identifier: Apache-2.0
// The check functions of invariants.inc; the file with the invariant's name defines each.
#pragma once
#include "core/check/invariant.h"

namespace kvlab {

#define KVLAB_INVARIANT(id, function, of, cheap, title) \
  void function(const CheckInput& input, std::vector<Violation>& out);
#include "core/check/invariants.inc"
#undef KVLAB_INVARIANT

}  // namespace kvlab
