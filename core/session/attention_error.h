// SPDX-License-Identifier: Apache-2.0
// The error of attention: how far its output over the rows that a cache keeps is from its output over all rows. For the
// newest token, by layer and query head,
//   e = |o - o_full| / |o_full|,   o = softmax(q k_j) v_j,   |.| the L2 norm over headDim.
// o_full goes over the rows that the model's mask permits of all tokens, as a session computes them that evicts nothing
// and stores f32; q is the query of that session. o goes over the rows that are resident in the layer, as they are
// stored, with the same query. So a figure tells what this layer's cache loses, and not what earlier layers have lost.
// 0: the layer has all rows, and they have the bits of that session.
//
// Source: the eviction loss of Ada-KV (Feng et al. 2024, arXiv 2407.11550), the distance of attention's outputs before
// and after an eviction; here by query head, before the output projection, in L2, and relative. Engine thread.
#pragma once
#include "core/analysis/rebuild.h"

namespace kvlab {

/// A pass over the context, and sums in double over the rows of every head. `store` has the live rows. Errors: those of
/// rebuildPass().
Result<AttentionErrors> attentionErrors(const RebuildInput& input, const CacheStore& store,
                                        const Progress& progress = {});

}  // namespace kvlab
