// SPDX-License-Identifier: Apache-2.0
// Factors of rows in the lowest layer: one for all of them, or those that follow from the scales of other codes.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/api/json_values.h"
#include "core/explain/explainer.h"

namespace kvlab {
namespace {

constexpr double kNoScales = 0.02;   // middle |log| of factors: nearer to one they are no scales of others
constexpr double kAlikeHead = 0.98;  // cosine of a head that is a multiple of the right one, up to coarse codes

/// Factor of each head against ours, and the cosine of their angle.
struct HeadFactor {
  double factor = 0, cosine = 0;
};

std::vector<HeadFactor> factorsOf(const std::vector<float>& theirs, const std::vector<float>& ours, std::size_t dim) {
  std::vector<HeadFactor> out;
  for (std::size_t from = 0; from < ours.size(); from += dim) {
    double dot = 0, length = 0, other = 0;
    for (std::size_t i = from; i < from + dim; ++i)
      dot += double{theirs[i]} * ours[i], length += double{ours[i]} * ours[i], other += double{theirs[i]} * theirs[i];
    const double both = length * other;
    out.push_back(both > 0 && std::isfinite(both) ? HeadFactor{dot / length, dot / std::sqrt(both)} : HeadFactor{});
  }
  return out;
}

double middleSize(std::vector<double> logarithms) {
  if (logarithms.empty()) return 0;
  for (double& one : logarithms) one = std::abs(one);
  const auto mid = logarithms.begin() + std::ptrdiff_t(logarithms.size() / 2);
  std::nth_element(logarithms.begin(), mid, logarithms.end());
  return *mid;
}

}  // namespace

/// Each head of each row has a factor of its own, and all of them are those of the scales of other heads or rows.
void Explainer::findOtherScales(std::size_t side) {
  const std::size_t dim = at(config().headDim);
  const int heads = config().kvHeads;
  const auto length = static_cast<std::int64_t>(m_ids.size());
  const std::vector<float> theirs = m_reading[side].undone(shapeOf(0), rowsOf(0, side));
  const auto oursOf = [&](const SideReading& reading) {
    return expectedRows(reading, config(), m_exact, m_layers.front().own, m_places.front(), length);
  };
  const std::vector<HeadFactor> factors = factorsOf(theirs, oursOf(m_reading[side]), dim);
  const auto restOf = [&](const std::vector<HeadFactor>& some) {
    std::vector<double> out;
    for (const HeadFactor& one : some)
      if (one.cosine > kAlikeHead) out.push_back(std::log(one.factor));
    return out;
  };
  const std::vector<double> plain = restOf(factors);
  if (plain.size() * 10 < factors.size() * 9 || middleSize(plain) < kNoScales) return;
  double least = 0.25 * middleSize(plain);
  SideReading best = m_reading[side];
  const auto offer = [&](int byHeads, int byRows) {
    SideReading one = m_reading[side];
    one.scaleHeads = byHeads, one.scaleRows = byRows, one.heads = heads;
    const double rest = middleSize(restOf(factorsOf(theirs, oursOf(one), dim)));
    if (rest < least) least = rest, best = std::move(one);
  };
  for (int by = 1; by < heads; ++by) offer(by, 0);
  for (const int by : {1, -1, m_cache.block, -m_cache.block})
    if (by != 0) offer(0, by);
  m_reading[side] = std::move(best);
}

/// One factor for all rows.
void Explainer::findScale(std::size_t side) {
  const std::size_t dim = at(config().headDim);
  const std::vector<float> ours = expectedRows(m_reading[side], config(), m_exact, m_layers.front().own,
                                               m_places.front(), static_cast<std::int64_t>(m_ids.size()));
  std::vector<double> factors;
  for (const HeadFactor& one : factorsOf(m_reading[side].undone(shapeOf(0), rowsOf(0, side)), ours, dim))
    if (std::abs(one.cosine) > 0.8) factors.push_back(one.factor);
  if (factors.size() * 2 * dim < ours.size()) return;
  std::ranges::sort(factors);
  const double middle = factors[factors.size() / 2];
  const double spread = factors[factors.size() * 9 / 10] - factors[factors.size() / 10];
  const double floor = typeError(m_type[side], ours, config().headDim);
  if (std::abs(middle - 1) < 0.01 + floor || spread > 0.25 * std::abs(middle - 1)) return;
  m_reading[side].scale = std::strtod(numberWords(middle, 5).c_str(), nullptr);
}

}  // namespace kvlab
