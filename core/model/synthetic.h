// SPDX-License-Identifier: Apache-2.0
// Seeded random weights of real shapes, for benchmarks and tests. A value depends on seed, tensor name and place alone,
// so that tensors can be drawn in any order and by any number of threads. The shapes are those of well-known
// checkpoints.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"

namespace kvlab {

/// name = the text after "synthetic:", options included. Progress counts bytes.
Result<std::shared_ptr<const Model>> openSynthetic(const std::string& spec, const std::string& name,
                                                   const Progress& progress);

/// Values of one tensor: uniform with mean and standard deviation as given.
struct RandomTensor {
  std::uint64_t key = 0;
  float mean = 0, deviation = 1;
};
/// Writes elements [4*begin, min(4*end, elements)) of the tensor.
void fillRandom(const RandomTensor& random, void* data, kernels::DType type, std::int64_t elements, std::int64_t begin,
                std::int64_t end);

/// The error of an opening that Progress stopped.
Error cancelledOpening(const std::string& spec);

/// config.json of a well-known checkpoint, reduced to the keys that shape a model; null if the name is not known.
const char* syntheticShape(std::string_view name);

}  // namespace kvlab
