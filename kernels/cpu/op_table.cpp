// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/op_table.h"

#include "kernels/numerics.h"

namespace kvlab::kernels {
namespace {

constexpr OpTable kCpuOps = {
    .numericsId = &numericsId,
    .targetName = &targetName,
    .convert = &convert,
    .embedding = &embedding,
    .matmul = &matmul,
    .rmsnorm = &rmsnorm,
    .add = &add,
    .swiglu = &swiglu,
    .rope = &rope,
    .attention = &attention,
    .writeRows = &writeRows,
    .moveRows = &moveRows,
    .zeroRows = &zeroRows,
    .gatherRows = &gatherRows,
    .verifyRows = &verifyRows,
    .readTags = &readTags,
    .matchTags = &matchTags,
    .diffRows = &diffRows,
    .argmax = &argmax,
    .softmax = &softmax,
    .topk = &topk,
};

}  // namespace

const OpTable& cpuOps() { return kCpuOps; }

}  // namespace kvlab::kernels
