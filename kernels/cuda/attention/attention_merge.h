// SPDX-License-Identifier: Apache-2.0
// The steps after the kernels that walk K and V: the merge of block results, and the probability masses.
#pragma once

#include "kernels/cuda/attention/attention_index.h"

namespace kvlab::kernels::cuda {

/// Merges p.values and p.states of nQueries queries strictly left to right into a.out; p.finals where stored.
int32_t mergeBlocks(void* stream, const AttentionArgs& a, const AttentionPlan& p);

/// Masses of the queries from p.stored on, out of p.kept, p.maxima and p.finals. `newest` says that the last
/// query of the batch is that of the call. Overwrites p.kept.
int32_t writeMasses(void* stream, const AttentionArgs& a, const AttentionPlan& p, bool newest);

}  // namespace kvlab::kernels::cuda
