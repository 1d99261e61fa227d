// SPDX-License-Identifier: Apache-2.0
// Rotary frequencies, as transformers' modeling_rope_utils defines default, linear, dynamic, llama3, yarn and
// longrope, in double. Pairs that do not turn have frequency 0. Pure; any thread.
#pragma once
#include <cstdint>
#include <vector>

#include "core/model/files/config.h"

namespace kvlab {

/// w[i] in radians per position, [headDim/2], for a context of `length` tokens.
std::vector<double> inverseFrequencies(const Rope& rope, int headDim, std::int64_t length = 0);
/// Contexts up to this length share frequencies; 0 = all do.
std::int64_t lengthOfChange(const Rope& rope);

/// Differs between two lengths of the context where the frequencies differ; 0 where they never do.
std::uint64_t turnWord(const ModelConfig& config, std::int64_t length);

/// The engine turns pairs (i, i + headDim/2); the last value of an odd number stays. If only a part of a head turns,
/// its values have another order than in files: order[i] is the place of value i in the file. Empty = the same place.
std::vector<std::int32_t> engineOrder(const ModelConfig& config);
/// For files that store rotary pairs as neighbours: the place in the file of each value in the order of engineOrder's
/// file, [headDim]; empty = the same place.
std::vector<std::int32_t> neighbourOrder(const ModelConfig& config);

}  // namespace kvlab
