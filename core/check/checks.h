// SPDX-License-Identifier: Apache-2.0
// The check functions of invariants.inc, each defined in the file of its invariant's name.
#pragma once
#include "core/check/invariant.h"

namespace kvlab {

#define KVLAB_INVARIANT(id, function, title) void function(const CheckInput& input, std::vector<Violation>& out);
#include "core/check/invariants.inc"
#undef KVLAB_INVARIANT

}  // namespace kvlab
