// SPDX-License-Identifier: Apache-2.0
// Policies that use keys only. Keys of small norm receive attention (KNorm, arXiv 2406.11430). Keys unlike the other
// keys receive attention (KeyDiff, arXiv 2504.15364, equation 4: minus the cosine to the mean of the normalised keys).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/policy/policy.h"
#include "core/state/host_work.h"

namespace kvlab {
namespace {

constexpr std::size_t kRowsTogether = 8;  // rows whose sums run side by side, each in the order of its values
constexpr std::size_t kPart = 256;        // rows that a thread takes at once

/// Rows of a KV head, [rows, kvHeads, dim].
struct HeadKeys {
  const LayerRows& rows;
  std::size_t head;

  std::size_t size() const { return rows.rows(); }
  std::size_t dim() const { return at(rows.headDim); }
  const float* operator[](std::size_t row) const { return rows.keys.data() + (row * at(rows.kvHeads) + head) * dim(); }
};

/// Calls work(part, first row, end) for each kPart rows of a head, in any order.
template <class Work>
void forParts(const HeadKeys& keys, const Work& work) {
  onThreads(keys.rows.host, (keys.size() + kPart - 1) / kPart,
            [&](std::size_t part) { work(part, part * kPart, std::min(keys.size(), (part + 1) * kPart)); });
}

/// Calls visit(row, sum over i of key[i] * times(key, i)) for each key of a head, in any order. Sums are in double.
template <class Times, class Visit>
void forProducts(const HeadKeys& keys, const Times& times, const Visit& visit) {
  forParts(keys, [&](std::size_t, std::size_t row, std::size_t end) {
    for (; row + kRowsTogether <= end; row += kRowsTogether) {
      const float* key[kRowsTogether];
      double sums[kRowsTogether] = {};
      for (std::size_t lane = 0; lane < kRowsTogether; ++lane) key[lane] = keys[row + lane];
      for (std::size_t i = 0; i < keys.dim(); ++i)
        for (std::size_t lane = 0; lane < kRowsTogether; ++lane)
          sums[lane] += double(key[lane][i]) * times(key[lane], i);
      for (std::size_t lane = 0; lane < kRowsTogether; ++lane) visit(row + lane, sums[lane]);
    }
    for (; row < end; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < keys.dim(); ++i) sum += double(keys[row][i]) * times(keys[row], i);
      visit(row, sum);
    }
  });
}

/// [rows]
std::vector<double> normsOf(const HeadKeys& keys) {
  std::vector<double> out(keys.size());
  forProducts(
      keys, [](const float* key, std::size_t i) { return double(key[i]); },
      [&](std::size_t row, double sum) { out[row] = std::sqrt(sum); });
  return out;
}

std::vector<float> smallNorm(const PolicySpec&, const LayerRows& rows) {
  std::vector<float> out;
  for (std::size_t head = 0; head < at(rows.kvHeads); ++head)
    for (const double norm : normsOf({rows, head})) out.push_back(static_cast<float>(-norm));
  return out;
}

/// The sum of the normalised keys: their mean but for its length. [dim]; the sums of parts in their order, whatever
/// thread takes them.
std::vector<double> sumOfDirections(const HeadKeys& keys, const std::vector<double>& norms) {
  const std::size_t dim = keys.dim();
  std::vector<double> sums((keys.size() + kPart - 1) / kPart * dim), out(dim);
  forParts(keys, [&](std::size_t part, std::size_t row, std::size_t end) {
    double* to = sums.data() + part * dim;
    for (; row < end; ++row)
      if (norms[row] > 0) addScaled(to, keys[row], 1 / norms[row], dim);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) out[i % dim] += sums[i];
  return out;
}

std::vector<float> unlikeTheMean(const PolicySpec&, const LayerRows& rows) {
  std::vector<float> out(at(rows.kvHeads) * rows.rows());
  for (std::size_t head = 0; head < at(rows.kvHeads); ++head) {
    const HeadKeys keys{rows, head};
    const std::vector<double> norms = normsOf(keys), mean = sumOfDirections(keys, norms);
    const double size = std::sqrt(std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0));
    float* list = out.data() + head * keys.size();
    forProducts(
        keys, [&](const float*, std::size_t i) { return mean[i]; },
        [&](std::size_t row, double product) {
          const double length = norms[row] * size;
          list[row] = length > 0 ? static_cast<float>(-product / length) : 0.0f;
        });
  }
  return out;
}

}  // namespace

Policy makeKnorm() { return {.needs = kKeys, .scores = smallNorm, .ofRow = true}; }
Policy makeKeyDiff() { return {kKeys, unlikeTheMean}; }

}  // namespace kvlab
