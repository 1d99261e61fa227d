// SPDX-License-Identifier: Apache-2.0
// What storing rows in fewer bits has cost, row by row: a rebuild pass computes each K and V anew from
// the stored rows before it, and compares what was computed with what its storage type holds. K and V
// apart, and for keys also in the space where they act: the error of the newest query's logits. Nothing
// live is touched. Engine thread. semantics.md, section 7.
#pragma once
#include "core/analysis/rebuild.h"

namespace kvlab {

/// Of one tensor in one layer. Rows that are not resident are not-a-number.
struct QuantError {
  std::vector<float> relative;      // [length] |stored - computed| / |computed|, over all heads
  std::vector<float> cosine;        // [length]
  std::vector<float> scale;         // [length] largest over the heads; 1 where the type has none
  std::vector<std::int32_t> atMax;  // [length] codes of the largest magnitude
  double worst = 0, mean = 0;       // of relative
};

struct LayerQuantisation {
  QuantError k, v;
  std::vector<float>
      logit;  // [length] largest over the query heads: |q . (stored - computed)| / sqrt(d), of the newest query
  double worstLogit = 0;
};

/// [layers]
using Quantisation = std::vector<LayerQuantisation>;

Result<Quantisation> measureQuantisation(const RebuildInput& input, const CacheStore& store,
                                         const Progress& progress = {});

}  // namespace kvlab
