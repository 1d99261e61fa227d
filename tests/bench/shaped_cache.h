// SPDX-License-Identifier: Apache-2.0
// A cache without a model, for benches of the knife and of storage: pools of real shapes filled with
// random rows, as long as they are asked for. Any thread; one at a time.
#pragma once
#include "bench/rig.h"
#include "core/edit/transaction.h"

namespace kvlab {

struct CacheShape {
  const char* name;
  int layers, kvHeads, headDim, heads;
};

struct ShapedCache {
  CacheStore store;
  CacheState state;
  LayoutSet layouts;
  std::int32_t capacity = 0;
};

/// `rows` live tokens; keep: the last so many stay, 0 = all.
Result<ShapedCache> makeShapedCache(const CacheShape& shape, const LayoutName& layout, std::int32_t rows,
                                    std::int32_t keep, kernels::DType k, kernels::DType v, kernels::Backend& backend);

/// Cost of a list of actions: microseconds without the forward pass of its new rows, and bytes moved.
struct EditCost {
  double plan = 0, commit = 0, bytes = 0;
};
Result<EditCost> applyTo(ShapedCache& cache, std::vector<Action> actions);

/// Gets back the room that edits left unused, as the verb compact does. Only paged layouts leave any.
Status compactAll(ShapedCache& cache);

}  // namespace kvlab
