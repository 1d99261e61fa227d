// SPDX-License-Identifier: Apache-2.0
// Attention of a few queries over the rows of one layer, read in place through a residency map.
//
// Per query q and query head: softmax(s_j) v_j with s_j = scale * q . k_j over the rows j in [rowBegin, rowEnd)
// and, if given, one self row that counts as index rowEnd. With a cap, s_j becomes cap * tanh(s_j / cap). Keys are
// rotated on read with the table row that phaseIndex names. Query head h reads KV head h / (queryHeads / kvHeads).
// With sinks, exp(sinks[h]) joins the sum of the softmax of head h, behind all rows: the probabilities of the rows
// then add up to less than 1 (gpt-oss).
//
// Order of reduction: keys in blocks of 64 aligned to indexBase + j. Inside a block: maximum, then
// p_j = exp(s_j - maximum), their sum in 16 virtual lanes (lane = index mod 16) and the tree of
// numerics.h, and p_j v_j added in ascending j. Blocks merge left to right with a running maximum.
// Rows outside the range contribute nothing. Hence the bits of one query's output depend on neither
// the other queries, the threads, the slots nor rows outside its range.
#pragma once

#include <cstdint>

#include "kernels/context.h"
#include "kernels/platform.h"
#include "kernels/row_format.h"

namespace kvlab::kernels {

inline constexpr int64_t kAttentionBlock = 64;

/// Probabilities that attention gives besides its output; null = not asked for. Entry `rows` is the self row.
struct AttentionOut {
  float* newest = nullptr;           ///< [rows + 1] last query, mean over query heads; rows not seen get 0
  float* newestPerHead = nullptr;    ///< [queryHeads, rows + 1] last query; rows not seen get 0
  float* received = nullptr;         ///< [rows + 1] += sum over queries, ascending, of the head mean
  float* receivedPerHead = nullptr;  ///< [queryHeads, rows + 1] += sum over queries, ascending
  /// Largest queryIndex of the queries whose probability, the largest of the KV head's query heads, is above the
  /// threshold; where no query's is, the entry stays.
  int32_t* lastAbove = nullptr;  ///< [kvHeads, rows + 1]

  KVLAB_HD bool wantsNewest() const { return newest || newestPerHead; }
  /// Probabilities of all queries are wanted, not of the last one alone.
  KVLAB_HD bool wantsReceived() const { return received || receivedPerHead || lastAbove; }
};

struct AttentionArgs {
  const uint8_t* pool = nullptr;  ///< row records
  RowFormat fmt;
  bool keysRotated = false;             ///< true: stored keys are used as they are
  const int32_t* slots = nullptr;       ///< [rows] residency map in logical order
  const int32_t* phaseIndex = nullptr;  ///< [rows] row of the table; unused with keysRotated
  int64_t rows = 0;
  int64_t rowsSeen = 0;                ///< rows that some query sees, for opBytes(); 0 = all
  int64_t indexBase = 0;               ///< logical index of slots[0]; >= 0, fixes the block borders
  const float* rotaryTable = nullptr;  ///< [phases, rotaryWidth(headDim)]: cos[d/2] then sin[d/2]

  const float* queries = nullptr;  ///< [nQueries, queryHeads*headDim], rotated by the caller
  int64_t nQueries = 0;
  int32_t queryHeads = 0;                   ///< multiple of fmt.kvHeads
  int64_t queryStride = 0;                  ///< in floats; 0 means queryHeads*headDim
  const int32_t* rowBegin = nullptr;        ///< [nQueries], positions in slots
  const int32_t* rowEnd = nullptr;          ///< [nQueries]
  const int32_t* selfSlot = nullptr;        ///< [nQueries] or null; -1 = none
  const int32_t* selfPhaseIndex = nullptr;  ///< [nQueries], read where selfSlot >= 0
  float scale = 1.0f;
  float cap = 0.0f;              ///< 0 = none
  const float* sinks = nullptr;  ///< [queryHeads] or null

  float* out = nullptr;   ///< [nQueries, queryHeads*headDim]; 0 for a query that sees no row
  int64_t outStride = 0;  ///< in floats; 0 means queryHeads*headDim

  void* scratch = nullptr;  ///< device only: attentionScratchBytes() of kernels/cuda/runtime/ops.h

  AttentionOut mass = {};
  const int32_t* queryIndex = nullptr;  ///< [nQueries], read for mass.lastAbove
  float aboveThreshold = 0.0f;          ///< likewise
};

void attention(const Context&, const AttentionArgs&);

}  // namespace kvlab::kernels
