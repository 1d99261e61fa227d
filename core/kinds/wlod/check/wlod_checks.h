// SPDX-License-Identifier: Apache-2.0
// The invariants of wLOD sessions; other sessions pass. Engine thread. semantics.md, section 8.
#pragma once
#include "core/check/invariant.h"

namespace kvlab {

void checkWlodTiling(const CheckInput& input, Findings& findings);
void checkWlodRows(const CheckInput& input, Findings& findings);

}  // namespace kvlab
