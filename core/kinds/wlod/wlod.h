// SPDX-License-Identifier: Apache-2.0
// wLOD as a kind of session: what of it the list of kinds knows. semantics.md, section 8. Any thread.
#pragma once
#include "core/parts/kinds.h"

namespace kvlab {

/// Serves manifests with settings of wLOD.
KindInfo wlodKind();

}  // namespace kvlab
