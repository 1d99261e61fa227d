// SPDX-License-Identifier: Apache-2.0
// Attention reads its maps in many places. With KV_DEBUG_BOUNDS it reads checked copies of them instead, in
// which a bad slot or phase is 0 and a bad range is empty; otherwise this does nothing.
#pragma once

#include "kernels/ops/attention.h"

namespace kvlab::kernels::cuda {

/// Bytes that the copies add to the scratch of a call.
int64_t attentionGuardBytes(const AttentionArgs&);
/// Makes the copies at the start of a.scratch, points `a` at them and at the rest of its scratch.
int32_t guardAttention(void* stream, AttentionArgs& a);

}  // namespace kvlab::kernels::cuda
