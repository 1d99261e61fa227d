// SPDX-License-Identifier: Apache-2.0
// Every op on a device, as kernels/ops describes it; module_api.h says what differs. They only enqueue.
#pragma once

#include "kernels/ops/row_ops.h"

namespace kvlab::kernels::cuda {

int32_t writeRows(void* stream, const WriteRowsArgs&);
int32_t zeroRows(void* stream, const ZeroRowsArgs&);
int32_t gatherRows(void* stream, const GatherRowsArgs&);
int32_t verifyRows(void* stream, const VerifyRowsArgs&);
int32_t readTags(void* stream, const ReadTagsArgs&);
int32_t matchTags(void* stream, const MatchTagsArgs&);

}  // namespace kvlab::kernels::cuda
