// SPDX-License-Identifier: Apache-2.0
// Derives the culling of a tick a second time from the state before: how many pairs leave, which ones, and which tokens
// replace them; and checks that the commit has carried it out. A full check compares the token with the whole
// vocabulary, a cheap one with a part. semantics.md, section 4. Engine thread.
#pragma once
#include "core/check/checks.h"
#include "core/check/findings.h"

namespace kvlab {

/// A tick has asked culling, and the state that it began with is there.
void checkCulledPairs(const CheckInput& input, Findings& findings);

}  // namespace kvlab
