// SPDX-License-Identifier: Apache-2.0
// Expected Attention (arXiv 2510.00636, section 3; variants as in kvpress). Future queries are assumed to be Gaussian
// with the moments of past queries, rotated by the mean rotation R of the next `future` positions. The score per query
// head is softmax_j(mu.k_j/sqrt(d) + k_j'Sigma k_j/2d), mean over the group, plus epsilon, times |v_j|.
#include <algorithm>
#include <cmath>

#include "core/policy/policy.h"

namespace kvlab {
namespace {

/// The mean over the next positions of cos and sin of each pair; pair i is (i, i + d/2).
struct MeanRotation {
  std::vector<double> cosine, sine;

  MeanRotation(const LayerRows& rows, int future) : cosine(rows.frequencies.size()), sine(rows.frequencies.size()) {
    for (std::size_t pair = 0; pair < cosine.size(); ++pair)
      for (int step = 0; step < future; ++step) {
        cosine[pair] += std::cos((rows.nextPhase + step) * rows.frequencies[pair]) / future;
        sine[pair] += std::sin((rows.nextPhase + step) * rows.frequencies[pair]) / future;
      }
  }

  /// R x for a vector whose entries lie `stride` apart.
  void turn(double* x, std::size_t stride) const {
    const std::size_t half = cosine.size();
    for (std::size_t i = 0; i < half; ++i) {
      double &a = x[i * stride], &b = x[(i + half) * stride];
      const double turned = a * cosine[i] - b * sine[i];
      b = b * cosine[i] + a * sine[i];
      a = turned;
    }
  }
};

/// Keys that are taken together: the compiler makes lanes of them, and each key's sums keep their order.
constexpr std::size_t kAbreast = 32;

/// mu.k and k'Sigma k of keys [dim, kAbreast].
struct Forms {
  double linear[kAbreast] = {}, square[kAbreast] = {};

  Forms(const std::vector<double>& mu, const std::vector<double>& sigma, const double* keys) {
    const std::size_t dim = mu.size();
    for (std::size_t i = 0; i < dim; ++i) {
      double inner[kAbreast] = {};
      for (std::size_t j = 0; j < dim; ++j) {
        const double factor = sigma[i * dim + j];
        const double* key = keys + j * kAbreast;
        for (std::size_t r = 0; r < kAbreast; ++r) inner[r] += factor * key[r];
      }
      const double* own = keys + i * kAbreast;
      for (std::size_t r = 0; r < kAbreast; ++r) {
        linear[r] += mu[i] * own[r];
        square[r] += inner[r] * own[r];
      }
    }
  }
};

/// Logits of one query head over the keys of its group, [rows].
std::vector<double> expectedLogits(const LayerRows& rows, int head, const MeanRotation& rotation) {
  const std::size_t dim = at(rows.headDim), n = rows.rows();
  const std::size_t group = at(head / (rows.heads / rows.kvHeads));
  const double* mean = rows.queries->mean.data() + at(head) * dim;
  const double* covariance = rows.queries->covariance.data() + at(head) * dim * dim;
  std::vector<double> mu(mean, mean + dim), sigma(covariance, covariance + dim * dim);
  rotation.turn(mu.data(), 1);
  for (std::size_t i = 0; i < dim; ++i) rotation.turn(sigma.data() + i, dim);      // R Sigma
  for (std::size_t i = 0; i < dim; ++i) rotation.turn(sigma.data() + i * dim, 1);  // (R Sigma) R'
  std::vector<double> out(n), keys(dim * kAbreast);
  const double scoreDim = rows.scoreDim != 0 ? rows.scoreDim : rows.headDim;
  for (std::size_t row = 0; row < n; row += kAbreast) {
    const std::size_t count = std::min(kAbreast, n - row);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t i = 0; i < dim; ++i)
        keys[i * kAbreast + r] = rows.keys[((row + r) * at(rows.kvHeads) + group) * dim + i];
    const Forms forms(mu, sigma, keys.data());
    for (std::size_t r = 0; r < count; ++r)
      out[row + r] = forms.linear[r] / std::sqrt(scoreDim) + forms.square[r] / (2 * scoreDim);
  }
  return out;
}

void softmax(std::vector<double>& values) {
  const double most = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (double& value : values) sum += value = std::exp(value - most);
  for (double& value : values) value /= sum;
}

std::vector<float> expectedScores(const PolicySpec& spec, const LayerRows& rows) {
  const std::size_t n = rows.rows(), dim = at(rows.headDim);
  std::vector<float> out(at(rows.kvHeads) * n);
  if (n == 0 || !rows.queries) return out;
  const MeanRotation rotation(rows, spec.future);
  const int group = rows.heads / rows.kvHeads;
  for (int head = 0; head < rows.heads; ++head) {
    std::vector<double> expected = expectedLogits(rows, head, rotation);
    softmax(expected);
    for (std::size_t row = 0; row < n; ++row)
      out[at(head / group) * n + row] += static_cast<float>(expected[row] / group);
  }
  for (int head = 0; head < rows.kvHeads; ++head)
    for (std::size_t row = 0; row < n; ++row) {
      const float* value = rows.values.data() + (row * at(rows.kvHeads) + at(head)) * dim;
      double square = 0;
      for (std::size_t i = 0; i < dim; ++i) square += double(value[i]) * value[i];
      float& score = out[at(head) * n + row];
      score = static_cast<float>((score + spec.epsilon) * std::sqrt(square));
    }
  return out;
}

}  // namespace

Policy makeExpectedAttention() { return {kKeys | kValues | kMoments, expectedScores}; }

}  // namespace kvlab
