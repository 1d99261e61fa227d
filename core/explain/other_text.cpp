// SPDX-License-Identifier: Apache-2.0
#include "core/explain/other_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/model/decoder/backend_status.h"
#include "core/model/decoder/transformer.h"

namespace kvlab {
namespace {

constexpr std::int64_t kBatch = 512;  // tokens of the vocabulary at once

double squares(std::span<const float> a) {
  double out = 0;
  for (const float value : a) out += double{value} * value;
  return out;
}

/// |a - b|^2; stops beyond `most`.
double squareApart(std::span<const float> a, std::span<const float> b, double most) {
  double out = 0;
  for (std::size_t i = 0; i < a.size() && out <= most; ++i) out += std::pow(double{a[i]} - b[i], 2);
  return out;
}

}  // namespace

Result<std::vector<TokenId>> tokensOfValues(const std::shared_ptr<const PlacedWeights>& weights,
                                            kernels::Backend& backend, std::span<const float> values, double apart,
                                            const Progress& progress) {
  const ModelConfig& config = weights->model().config();
  if (!backend.onHost())
    return Error("unsupported", "no text was read off", "the weights lie on a device", "give the backend cpu");
  const std::size_t width = at(std::int64_t{config.kvHeads} * config.headDim), rows = values.size() / width;
  const std::unique_ptr<Transformer> transformer =
      KV_TRY(Transformer::create(weights, backend, 1, static_cast<int>(kBatch)));
  std::vector<TokenId> out(rows, TokenId(-1));
  std::vector<double> nearest(rows);
  for (std::size_t row = 0; row < rows; ++row)
    nearest[row] = apart * apart * squares(values.subspan(row * width, width));
  std::vector<std::int32_t> ids(at(kBatch));
  std::vector<float> x(at(kBatch * config.hidden)), k(at(kBatch) * width), v(k.size());
  for (std::int64_t begin = 0; begin < config.vocab; begin += kBatch) {
    if (!report(progress, "reading a text off rows", begin, config.vocab))
      return Error("cancelled", "the search was stopped", "while a text was read off rows", "start it again");
    const std::int64_t n = std::min<std::int64_t>(kBatch, config.vocab - begin);
    std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(begin));
    transformer->embed(ids.data(), n, x.data());
    transformer->projectTo(Layer(0), n, x.data(), k.data(), v.data());
    KV_TRY(backendStatus(backend, "reading a text off rows"));
    for (std::size_t row = 0; row < rows; ++row)
      for (std::int64_t id = 0; id < n; ++id) {
        const double far =
            squareApart(values.subspan(row * width, width), std::span(v).subspan(at(id) * width, width), nearest[row]);
        if (far < nearest[row]) nearest[row] = far, out[row] = TokenId(static_cast<std::int32_t>(begin + id));
      }
  }
  return out;
}

}  // namespace kvlab
