// SPDX-License-Identifier: Apache-2.0
#include "core/state/row_origins.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "kernels/row_checksum.h"

namespace kvlab {
namespace {

constexpr std::int64_t kWords = 4;  // read of each weight, so that a commit reads a few thousand in all

void mix(std::uint64_t& sum, std::uint64_t word) { sum = kernels::mix64(sum ^ word) + kernels::kChecksumIndexStep; }

void mixSome(std::uint64_t& sum, const TensorView& weight) {
  if (!weight) return;
  const std::int64_t words = weight.bytes() / 8;
  for (std::int64_t i = 0; i < std::min(kWords, words); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(weight.data) + (words * (2 * i + 1) / (2 * kWords)) * 8, 8);
    mix(sum, word);
  }
}

std::uint64_t originOf(Transformer& transformer, Layer layer) {
  std::uint64_t sum = 0;
  for (const char c : std::string_view(transformer.ops().numericsId())) mix(sum, static_cast<std::uint8_t>(c));
  eachWeight(transformer.model().layer(layer), [&](const TensorView& view, WeightKind) { mixSome(sum, view); });
  if (!transformer.model().config().rope(layer).followsLength())
    for (const double w : transformer.rotary().frequencies(layer)) mix(sum, std::bit_cast<std::uint64_t>(w));
  return sum;
}

}  // namespace

std::vector<std::uint64_t> originOf(Transformer& transformer) {
  std::vector<std::uint64_t> out;
  if (!transformer.backend().onHost()) return out;
  for (const Layer layer : idRange<Layer>(0, transformer.model().config().layers))
    out.push_back(originOf(transformer, layer));
  return out;
}

RowOrigins withOrigin(const RowOrigins& origins, std::int32_t commit, Transformer& transformer, bool one) {
  if (origins && one && !origins->back().layers.empty()) {
    const std::vector<std::uint64_t>& known = origins->back().layers;
    const Layer layer(static_cast<std::int32_t>(commit % std::ssize(known)));
    if (originOf(transformer, layer) == known[at(layer)]) return origins;
  }
  std::vector<std::uint64_t> layers = originOf(transformer);
  if (origins && origins->back().layers == layers) return origins;
  auto more = origins ? std::make_shared<std::vector<RowOrigin>>(*origins) : std::make_shared<std::vector<RowOrigin>>();
  more->push_back({commit, std::move(layers)});
  return more;
}

}  // namespace kvlab
