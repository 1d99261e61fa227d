// SPDX-License-Identifier: Apache-2.0
// Every op on a device, as kernels/ops describes it; module_api.h says what differs. They only enqueue.
#pragma once

#include "kernels/ops/op_table.h"

namespace kvlab::kernels::cuda {

int32_t writeRows(void* stream, const WriteRowsArgs&);
int32_t zeroRows(void* stream, const ZeroRowsArgs&);
int32_t gatherRows(void* stream, const GatherRowsArgs&);
int32_t verifyRows(void* stream, const VerifyRowsArgs&);
int32_t readTags(void* stream, const ReadTagsArgs&);
int32_t matchTags(void* stream, const MatchTagsArgs&);
int32_t moveRows(void* stream, const MoveRowsArgs&);
int32_t convert(void* stream, const ConvertArgs&);
int32_t embedding(void* stream, const EmbeddingArgs&);
int32_t matmul(void* stream, const MatmulArgs&);
int32_t rmsnorm(void* stream, const RmsnormArgs&);
int32_t add(void* stream, const AddArgs&);
int32_t swiglu(void* stream, const SwigluArgs&);
int32_t rope(void* stream, const RopeArgs&);
int32_t diffRows(void* stream, const DiffRowsArgs&);
int32_t argmax(void* stream, const ArgmaxArgs&);
int32_t softmax(void* stream, const SoftmaxArgs&);
int32_t topk(void* stream, const TopkArgs&);

/// `rows` may be an upper bound of what the queries see. Pool, table and scratch start at multiples of 256 bytes.
int32_t attention(void* stream, const AttentionArgs&);
int64_t attentionScratchBytes(const AttentionArgs&);  ///< reads no array

}  // namespace kvlab::kernels::cuda
