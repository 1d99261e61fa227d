// SPDX-License-Identifier: Apache-2.0
// The logits of the next token where no pass of the last commit made them: behind a step through history, a load, a
// change of storage, or a question that computed stale logits anew. Engine thread.
#pragma once
#include "core/check/findings.h"
#include "core/check/invariant.h"

namespace kvlab {

/// Takes the newest token through all layers over the stored rows, in another implementation of the decoder
/// (scalar_decoder.h), and compares the logits that the state tells. Nothing is known where policies let rows go behind
/// the pass, with a kind that derives its context, and where products round what they read.
void checkToldLogits(const CheckInput& input, Findings& findings);

}  // namespace kvlab
