// SPDX-License-Identifier: Apache-2.0
// The weights and the arithmetic that made the rows of a state: a fingerprint of each layer, read from the weights
// themselves when a commit is made. A list has one entry for each time that they changed. Engine thread.
#pragma once
#include <memory>
#include <vector>

#include "core/model/decoder/transformer.h"

namespace kvlab {

struct RowOrigin {
  std::int32_t since = 0;             // number of the first commit that had it
  std::vector<std::uint64_t> layers;  // [layers of the model]; empty where weights cannot be read
};
using RowOrigins = std::shared_ptr<const std::vector<RowOrigin>>;

/// Fingerprints of the inputs with which a transformer computes rows: some words of each weight, the numbers of its
/// arithmetic and the frequencies of rotation, unless these follow the length of the context. Empty where the weights
/// are not in host memory.
std::vector<std::uint64_t> originOf(Transformer& transformer);
/// The list with the origin of commit number `commit`. With `one` a commit looks at one layer, the next commit at the
/// next one, and at all of them where that has changed: the words lie far apart in memory.
RowOrigins withOrigin(const RowOrigins& origins, std::int32_t commit, Transformer& transformer, bool one);

}  // namespace kvlab
