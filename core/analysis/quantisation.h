// SPDX-License-Identifier: Apache-2.0
// Measures what storing rows in fewer bits costs, row by row. A rebuild pass computes each K and V again from the
// stored rows before it, and compares the computed values with their stored form. K and V have figures
// of their own; keys also have the error of the newest query's logits, where keys act. Live rows stay untouched.
// Engine thread. semantics.md, section 7.
#pragma once
#include "core/analysis/rebuild.h"

namespace kvlab {

/// Errors of one tensor in one layer. Rows that are not resident are not-a-number.
struct QuantError {
  std::vector<float> relative;      // [length] |stored - computed| / |computed|, over all heads
  std::vector<float> cosine;        // [length]
  std::vector<float> scale;         // [length] largest over the heads; 1 where the type has none
  std::vector<std::int32_t> atMax;  // [length] codes of the largest magnitude
  double worst = 0, mean = 0;       // over `relative`
};

struct LayerQuantisation {
  QuantError k, v;
  std::vector<float>
      logit;  // [length] largest over the query heads: |q . (stored - computed)| / sqrt(d), of the newest query
  double worstLogit = 0;
  kernels::WriteRowsStats tried;  // statistics of the rows that the pass stored, where input.types are given
};

/// [layers]
using Quantisation = std::vector<LayerQuantisation>;

/// With types in `input` the figures are those that a session would have that stores its rows in them.
Result<Quantisation> measureQuantisation(const RebuildInput& input, const CacheStore& store,
                                         const Progress& progress = {});

}  // namespace kvlab
