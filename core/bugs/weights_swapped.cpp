// SPDX-License-Identifier: Apache-2.0
// lmdeploy#4917, vllm#42125: weights change, and the rows that older weights made stay.
#include "core/bugs/bug_file.h"

namespace kvlab {
namespace {

std::shared_ptr<const PlacedWeights> weightsSwapped(std::shared_ptr<const PlacedWeights> weights) {
  const Layer last(weights->model().config().layers - 1);
  const LayerWeights& before = weights->layer(Layer(last.value() - 1));
  return PlacedWeights::withLayer(weights, last, before);
}

}  // namespace

KVLAB_BUG_KIND(weights_swapped, .weights = weightsSwapped)

}  // namespace kvlab
