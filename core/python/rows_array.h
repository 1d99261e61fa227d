// SPDX-License-Identifier: Apache-2.0
// Rows of a session as values for NumPy: gathered in the order of a layer's map, or a pool's records as they lie in
// their slots. Any thread that does not hold the GIL.
#pragma once
#include <memory>
#include <vector>

#include "core/python/handle.h"

namespace kvlab::python {

/// K and V of the resident rows of a cache layer, [rows, kvHeads, headDim] each, in context order.
struct RowsArray {
  std::vector<float> k, v;
  std::size_t rows = 0, heads = 0, dim = 0;
};
/// rotated: keys turned to their rows' phases, as attention reads them; else as the model computes them before
/// rotation. Errors: out_of_range (no such layer).
Result<std::shared_ptr<RowsArray>> rowsArray(Session& session, std::int64_t cacheLayer, bool rotated);

/// A pool's records at the time of the call. The pages are shared with the session's pool until the session writes
/// them, so nothing is copied, and later calls of the session change nothing here.
struct PoolRecords {
  std::shared_ptr<kernels::Backend> backend;  // of its own, so that any thread may drop the records; outlives the pool
  RowPool pool;
};
/// Errors: out_of_range, out_of_memory, unsupported (the pool does not lie in host memory).
Result<std::shared_ptr<PoolRecords>> poolRecords(Session& session, std::int64_t cacheLayer);

}  // namespace kvlab::python
