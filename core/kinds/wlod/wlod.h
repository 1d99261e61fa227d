// SPDX-License-Identifier: Apache-2.0
// The entry of wLOD in the list of kinds of session. semantics.md, section 8. Any thread.
#pragma once
#include "core/parts/kinds.h"

namespace kvlab {

/// Serves manifests with settings of wLOD.
KindInfo wlodKind();
/// verbs_wlod.cpp
std::span<const Verb> wlodVerbs();

}  // namespace kvlab
