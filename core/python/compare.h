// SPDX-License-Identifier: Apache-2.0
// kvlab.compare(): arrays of Python as a cache of another program, and what the search finds about a cache. Any thread;
// the search runs without the GIL.
#pragma once
#include <nanobind/ndarray.h>

#include <memory>

#include "core/api/table_answer.h"
#include "core/explain/explain.h"
#include "core/python/handle.h"

namespace kvlab::python {

/// [heads, rows, head size] in any strides, in the memory of Python: it lives as long as somebody holds it.
using GivenRows = nanobind::ndarray<nanobind::numpy, nanobind::ro, nanobind::device::cpu, nanobind::ndim<3>>;

struct GivenLayer {
  std::int32_t layer = 0;
  GivenRows keys, values;
  std::string type;  // of the values: f64, f32, f16, bf16 or fp8-e4m3; where NumPy lacks it, the array has its bits
  std::vector<std::int32_t> positions;  // [rows]; empty = unknown
};

/// Holds the arrays; a layer is copied when it is read, and no earlier. headsKnown: the first dimension is that of KV
/// heads; else it is 1. Errors: bad_argument (unequal shapes, values of another type than the layer's).
Result<ForeignCache> cacheOfArrays(std::vector<GivenLayer> layers, bool headsKnown, std::vector<std::string> notes);

/// manifest: names the model. Errors: those of openSession() and kvlab::explain().
Result<std::shared_ptr<Explanation>> compare(const ForeignCache& cache, nlohmann::json manifest,
                                             const std::string& resources, ExplainAsk ask, Interrupts& interrupts);

/// What is left over, a line for each layer, row and head.
TableAnswer leftTable(const Explanation& explanation);

}  // namespace kvlab::python
