// SPDX-License-Identifier: Apache-2.0
// The types of a model's tensors: files in blocks have several. Any thread.
#pragma once
#include <vector>

#include "core/model/model.h"

namespace kvlab {

struct TensorTypes {
  kernels::DType dtype = kernels::DType::f32;
  std::int64_t tensors = 0, bytes = 0;
  bool operator==(const TensorTypes&) const = default;
};

/// The type of the most bytes first. A head that is the embedding counts once.
std::vector<TensorTypes> tensorTypes(const Model& model);

}  // namespace kvlab
