// SPDX-License-Identifier: Apache-2.0
// The logits of the next token where no pass of the last commit made them: behind a step through history, a load, a
// change of storage, or a question that computed stale logits anew. Engine thread.
#pragma once
#include "core/check/findings.h"
#include "core/check/invariant.h"

namespace kvlab {

/// Takes the newest token through all layers over the stored rows, in another implementation of the decoder
/// (scalar_decoder.h), and compares the logits of the state. It compares nothing if policies let rows go behind the
/// pass, with a kind that derives its context, or if products round their factors.
void checkToldLogits(const CheckInput& input, Findings& findings);

}  // namespace kvlab
