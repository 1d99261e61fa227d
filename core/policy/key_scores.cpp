// SPDX-License-Identifier: Apache-2.0
// Policies that use keys only. Keys of small norm receive attention (KNorm, arXiv 2406.11430). Keys unlike the other
// keys receive attention (KeyDiff, arXiv 2504.15364, equation 4: minus the cosine to the mean of the normalised keys).
#include <cmath>

#include "core/policy/policy.h"

namespace kvlab {
namespace {

double dot(const float* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += double(a[i]) * b[i];
  return sum;
}

double norm(const float* a, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += double(a[i]) * a[i];
  return std::sqrt(sum);
}

/// Calls visit(head, row, key) in the order of scores.
template <class Visit>
void forEachKey(const LayerRows& rows, Visit visit) {
  for (int head = 0; head < rows.kvHeads; ++head)
    for (std::size_t row = 0; row < rows.rows(); ++row)
      visit(head, row,
            rows.keys.data() +
                (row * static_cast<std::size_t>(rows.kvHeads) + static_cast<std::size_t>(head)) *
                    static_cast<std::size_t>(rows.headDim));
}

std::vector<float> smallNorm(const PolicySpec&, const LayerRows& rows) {
  std::vector<float> out;
  forEachKey(rows,
             [&](int, std::size_t, const float* key) { out.push_back(static_cast<float>(-norm(key, rows.headDim))); });
  return out;
}

std::vector<float> unlikeTheMean(const PolicySpec&, const LayerRows& rows) {
  const std::size_t dim = static_cast<std::size_t>(rows.headDim);
  std::vector<double> mean(static_cast<std::size_t>(rows.kvHeads) * dim);
  forEachKey(rows, [&](int head, std::size_t, const float* key) {
    const double length = norm(key, rows.headDim);
    for (std::size_t i = 0; i < dim && length > 0; ++i)
      mean[static_cast<std::size_t>(head) * dim + i] += key[i] / length;
  });
  std::vector<float> out;
  forEachKey(rows, [&](int head, std::size_t, const float* key) {
    const double* anchor = mean.data() + static_cast<std::size_t>(head) * dim;
    double size = 0;
    for (std::size_t i = 0; i < dim; ++i) size += anchor[i] * anchor[i];
    const double length = norm(key, rows.headDim) * std::sqrt(size);
    out.push_back(length > 0 ? static_cast<float>(-dot(key, anchor, rows.headDim) / length) : 0.0f);
  });
  return out;
}

}  // namespace

Policy makeKnorm() { return {kKeys, smallNorm}; }
Policy makeKeyDiff() { return {kKeys, unlikeTheMean}; }

}  // namespace kvlab
