// SPDX-License-Identifier: Apache-2.0
#include "core/check/expected_scores.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {

/// Turns pairs of values by the mean over positions of the rotation.
class MeanTurn {
 public:
  explicit MeanTurn(const ExpectedQueries& queries) {
    for (const double w : queries.frequencies) {
      double cosine = 0, sine = 0;
      for (int step = 0; step < queries.future; ++step) {
        cosine += std::cos((queries.nextPhase + step) * w);
        sine += std::sin((queries.nextPhase + step) * w);
      }
      const double share = (w == 0 ? 1 : queries.stretch) / queries.future;
      m_cosine.push_back(cosine * share), m_sine.push_back(sine * share);
    }
  }
  /// Values at x, x + step and so on.
  void operator()(double* x, std::size_t step) const {
    const std::size_t half = m_cosine.size();
    for (std::size_t i = 0; i < half; ++i) {
      const double a = x[i * step], b = x[(half + i) * step];
      x[i * step] = a * m_cosine[i] - b * m_sine[i];
      x[(half + i) * step] = a * m_sine[i] + b * m_cosine[i];
    }
  }

 private:
  std::vector<double> m_cosine, m_sine;
};

/// Score that a query head expects for a key before the softmax: mean . k / root(d) + k' covariance k / 2d.
double expectation(std::span<const double> mean, std::span<const double> covariance, std::span<const double> key,
                   double scoreDim) {
  double linear = 0, square = 0;
  for (std::size_t i = 0; i < key.size(); ++i) {
    linear += mean[i] * key[i];
    double row = 0;
    for (std::size_t j = 0; j < key.size(); ++j) row += covariance[i * key.size() + j] * key[j];
    square += key[i] * row;
  }
  return linear / std::sqrt(scoreDim) + square / (2 * scoreDim);
}

}  // namespace

std::vector<double> expectedScores(const ExpectedRows& rows, const ExpectedQueries& queries, double epsilon) {
  const std::size_t count = rows.keys.size(), dim = rows.keys.front().size(), heads = queries.mean.size() / dim;
  const MeanTurn turn(queries);
  std::vector<double> out(count);
  for (std::size_t head = 0; head < heads; ++head) {
    std::vector<double> mean(dim), covariance(dim * dim), share(count);
    std::ranges::copy(queries.mean.subspan(head * dim, dim), mean.begin());
    std::ranges::copy(queries.covariance.subspan(head * dim * dim, dim * dim), covariance.begin());
    turn(mean.data(), 1);
    for (std::size_t i = 0; i < dim; ++i) turn(covariance.data() + i, dim);
    for (std::size_t i = 0; i < dim; ++i) turn(covariance.data() + i * dim, 1);
    double most = -INFINITY, sum = 0;
    for (std::size_t row = rows.sinks; row < count; ++row)
      most = std::max(most, share[row] = expectation(mean, covariance, rows.keys[row], queries.scoreDim));
    for (std::size_t row = rows.sinks; row < count; ++row) sum += share[row] = std::exp(share[row] - most);
    for (std::size_t row = rows.sinks; row < count; ++row) out[row] += share[row] / sum / static_cast<double>(heads);
  }
  for (std::size_t row = 0; row < count; ++row) out[row] = (out[row] + epsilon) * rows.lengths[row];
  return out;
}

}  // namespace kvlab
