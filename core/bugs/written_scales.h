// SPDX-License-Identifier: Apache-2.0
// Changes the scales of rows that a pass has written, and seals the rows again. For bugs of quantisation.
#pragma once
#include "core/bugs/bug_kind.h"

namespace kvlab {

/// Calls `change` for each scale of K and V of each row.
void changeScales(const WrittenBend& bend, void (*change)(float& scale));

}  // namespace kvlab
