// SPDX-License-Identifier: Apache-2.0
// Expected Attention (arXiv 2510.00636, section 3; variants as in kvpress). Future queries are assumed to be Gaussian
// with the moments of past queries, rotated by the mean rotation R of the next `future` positions. The score per query
// head is softmax_j(mu.k_j/sqrt(d) + k_j'Sigma k_j/2d) over the rows j behind the sinks, mean over the group, plus
// epsilon, times |v_j|. R turns the keys instead of the moments: the query heads of a group share keys, and the moments
// stay as they are.
#include <algorithm>
#include <cmath>
#include <memory>

#include "core/policy/policy.h"
#include "kernels/backend/backend.h"
#include "kernels/quadratic_forms.h"

namespace kvlab {
namespace {

/// The mean over the next positions of cos and sin of each pair; pair i is (i, i + d/2).
struct MeanRotation {
  std::vector<float> cosine, sine;

  MeanRotation(const LayerRows& rows, int future) {
    for (const double frequency : rows.frequencies) {  // a geometric sum of exp(i (phase + step) frequency)
      const double half = frequency / 2, divisor = std::sin(half) * future;
      const double length = std::abs(divisor) < 1e-12 ? 1 : std::sin(half * future) / divisor;
      const double middle = (rows.nextPhase + (future - 1) / 2.0) * frequency;
      cosine.push_back(static_cast<float>(std::cos(middle) * length));
      sine.push_back(static_cast<float>(std::sin(middle) * length));
    }
  }

  /// R'k for each key [dim]; the last value of an odd number stays.
  std::vector<float> turned(std::span<const float> keys, std::size_t dim) const {
    const std::size_t half = cosine.size();
    std::vector<float> out(keys.begin(), keys.end());
    for (std::size_t at = 0; at < keys.size(); at += dim) {
      const float *a = keys.data() + at, *b = a + half;
      float *to = out.data() + at, *toB = to + half;
      for (std::size_t i = 0; i < half; ++i) to[i] = a[i] * cosine[i] + b[i] * sine[i];
      for (std::size_t i = 0; i < half; ++i) toB[i] = b[i] * cosine[i] - a[i] * sine[i];
    }
    return out;
  }
};

/// Sums in lanes and a tree, an order that no compiler changes.
float dotOf(const float* a, const float* b, std::size_t n) {
  constexpr std::size_t kLanes = 16;
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  for (std::size_t lane = 0; i < n; ++i, ++lane) lanes[lane] += a[i] * b[i];
  for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += lanes[lane + 8];
  for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] += lanes[lane + 4];
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/// The forms k'Sigma k/2d + mu.k/sqrt(d) of the query heads of a group (quadratic_forms.h).
std::vector<float> formsOf(const LayerRows& rows, int group) {
  const std::size_t heads = at(rows.heads / rows.kvHeads), dim = at(rows.headDim);
  const double scale = 1.0 / (rows.scoreDim != 0 ? rows.scoreDim : rows.headDim), root = std::sqrt(scale);
  std::vector<float> out(heads * static_cast<std::size_t>(kernels::formWeights(rows.headDim)));
  float* to = out.data();
  for (std::size_t head = at(group) * heads; head < (at(group) + 1) * heads; ++head)
    for (std::size_t i = 0; i < dim; ++i) {
      const double* row = rows.queries->covariance.data() + (head * dim + i) * dim;
      *to++ = static_cast<float>(rows.queries->mean[head * dim + i] * root);
      *to = static_cast<float>(row[i] * 0.5 * scale);
      for (std::size_t j = i + 1; j < dim; ++j) to[j - i] = static_cast<float>(row[j] * scale);
      to += dim - i;
    }
  return out;
}

void softmax(std::span<float> values) {
  if (values.empty()) return;
  const float most = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (float& value : values) sum += value = std::exp(value - most);
  for (float& value : values) value = static_cast<float>(value / sum);
}

/// Adds the mean expected attention of a group's query heads to its list, [rows]. keys: [rows, KV heads, dim].
void addExpected(const LayerRows& rows, const kernels::Context& context, const std::vector<float>& keys, int group,
                 std::size_t sinks, std::span<float> list) {
  const int heads = rows.heads / rows.kvHeads, dim = rows.headDim;
  std::vector<float> expected(at(heads) * list.size());
  const std::vector<float> forms = formsOf(rows, group);
  kernels::quadraticForms(context,
                          {keys.data() + at(group) * at(dim), forms.data(), expected.data(),
                           static_cast<std::int64_t>(list.size()), heads, dim, std::int64_t{rows.kvHeads} * dim});
  for (std::size_t head = 0; head < at(heads); ++head) {
    const std::span<float> own = std::span(expected).subspan(head * list.size(), list.size());
    softmax(own.subspan(sinks));
    for (std::size_t row = sinks; row < list.size(); ++row) list[row] += own[row] / static_cast<float>(heads);
  }
}

std::vector<float> expectedScores(const PolicySpec& spec, const LayerRows& rows) {
  const std::size_t n = rows.rows(), dim = at(rows.headDim);
  std::vector<float> out(at(rows.kvHeads) * n);
  if (n == 0 || !rows.queries) return out;
  const std::unique_ptr<kernels::Backend> own = rows.host ? nullptr : kernels::makeCpuBackend(1);
  const std::vector<float> keys = MeanRotation(rows, spec.future).turned(rows.keys, dim);
  for (int group = 0; group < rows.kvHeads; ++group) {
    const std::span<float> list = std::span(out).subspan(at(group) * n, n);
    addExpected(rows, (rows.host ? *rows.host : *own).context(), keys, group, std::min(at(spec.sinks), n), list);
    for (std::size_t row = 0; row < n; ++row) {
      const float* value = rows.values.data() + (row * at(rows.kvHeads) + at(group)) * dim;
      list[row] = (list[row] + static_cast<float>(spec.epsilon)) * std::sqrt(dotOf(value, value, dim));
    }
  }
  return out;
}

}  // namespace

Policy makeExpectedAttention() { return {kKeys | kValues | kMoments, expectedScores}; }

}  // namespace kvlab
