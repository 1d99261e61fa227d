// SPDX-License-Identifier: Apache-2.0
#include "core/model/tensor_types.h"

#include <algorithm>

#include "core/model/families/family.h"

namespace kvlab {
namespace {

void count(std::vector<TensorTypes>& out, kernels::DType dtype, std::int64_t bytes) {
  auto row = std::find_if(out.begin(), out.end(), [&](const TensorTypes& one) { return one.dtype == dtype; });
  if (row == out.end()) row = out.insert(row, TensorTypes{.dtype = dtype});
  ++row->tensors;
  row->bytes += bytes;
}

}  // namespace

std::vector<TensorTypes> tensorTypes(const Model& model) {
  const ModelConfig& config = model.config();
  std::vector<TensorTypes> out;
  count(out, model.embed().dtype, model.embed().bytes());
  count(out, model.finalNorm().dtype, model.finalNorm().bytes());
  if (model.head().data != model.embed().data) count(out, model.head().dtype, model.head().bytes());
  for (const Layer l : idRange<Layer>(0, config.layers)) {
    LayerWeights weights = model.layer(l);
    for (const LayerTensor& one : familyOf(config.type)->tensors(config, l)) {
      std::int64_t bytes = 0;
      for (const LayerTensor::Place& place : one.places) bytes += place.weight(weights).bytes();
      count(out, one.places.front().weight(weights).dtype, bytes);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return out;
}

}  // namespace kvlab
