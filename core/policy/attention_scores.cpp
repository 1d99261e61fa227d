// SPDX-License-Identifier: Apache-2.0
// Policies that score a row by the attention it has received: from all queries so far (H2O, arXiv 2306.14048), from
// the newest query (TOVA, arXiv 2401.06104), or from the last queries, pooled over neighbouring rows (SnapKV, arXiv
// 2404.14469; PyramidKV, arXiv 2406.02069, and AdaKV, arXiv 2407.11550, differ from SnapKV in their budgets). The
// window is cut off before pooling, as in the published programs.
#include <algorithm>

#include "core/policy/policy.h"

namespace kvlab {
namespace {

/// Mean or maximum of `kernel` neighbours. Beyond the ends the mean counts zeros, as torch's avg_pool1d does.
float pooled(std::span<const float> list, std::ptrdiff_t i, const PolicySpec& spec) {
  const std::ptrdiff_t half = spec.kernel / 2, size = static_cast<std::ptrdiff_t>(list.size());
  double sum = 0;
  float most = list[static_cast<std::size_t>(i)];
  for (std::ptrdiff_t j = std::max<std::ptrdiff_t>(0, i - half); j <= std::min(size - 1, i + half); ++j) {
    sum += list[static_cast<std::size_t>(j)];
    most = std::max(most, list[static_cast<std::size_t>(j)]);
  }
  return spec.pooling == Pooling::Maximum ? most : static_cast<float>(sum / spec.kernel);
}

constexpr std::size_t kPooledTogether = 16;

/// The same of neighbouring rows, all of whose neighbours are there, in the same order of sums. first: the first
/// neighbour of the first row.
void poolTogether(const float* first, const PolicySpec& spec, float* out) {
  double sums[kPooledTogether] = {};
  float most[kPooledTogether];
  for (std::size_t lane = 0; lane < kPooledTogether; ++lane) most[lane] = first[at(spec.kernel / 2) + lane];
  for (int j = 0; j < spec.kernel; ++j)
    for (std::size_t lane = 0; lane < kPooledTogether; ++lane) {
      const float one = first[at(j) + lane];
      sums[lane] += double(one);
      most[lane] = std::max(most[lane], one);
    }
  for (std::size_t lane = 0; lane < kPooledTogether; ++lane)
    out[lane] = spec.pooling == Pooling::Maximum ? most[lane] : static_cast<float>(sums[lane] / spec.kernel);
}

std::vector<float> observed(const PolicySpec& spec, const LayerRows& rows) {
  std::vector<float> out(rows.observed.begin(), rows.observed.end());
  const std::size_t past = rows.rows() - std::min(rows.rows(), at(spec.window));
  for (std::size_t from = 0; from < out.size(); from += rows.rows()) {
    const std::span<const float> list = rows.observed.subspan(from, past);
    const std::size_t half = at(spec.kernel / 2);
    std::size_t i = 0;
    for (; i < std::min(half, past); ++i) out[from + i] = pooled(list, static_cast<std::ptrdiff_t>(i), spec);
    for (; i + kPooledTogether + half <= past; i += kPooledTogether)
      poolTogether(&list[i - half], spec, &out[from + i]);
    for (; i < past; ++i) out[from + i] = pooled(list, static_cast<std::ptrdiff_t>(i), spec);
  }
  return out;
}

}  // namespace

Policy makeH2o() { return {kReceived, asListed<&LayerRows::received>}; }
Policy makeTova() { return {kNewest, asListed<&LayerRows::newest>}; }
Policy makeSnapKv() { return {kObserved, observed}; }
Policy makePyramidKv() { return {kObserved, observed}; }
Policy makeAdaKv() { return {kObserved, observed}; }

}  // namespace kvlab
