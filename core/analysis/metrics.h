// SPDX-License-Identifier: Apache-2.0
// Defines each figure that compares two runs over the same tokens, once. p is the reference, q the other
// run. Pure functions; any thread. Sums are in double, in the order of the index. A figure without meaning
// (sizes that differ, nothing to divide by) is not-a-number.
//
// Sources: Kullback and Leibler 1951; perplexity as exp of the mean NLL: Jelinek et al. 1977; nearest-rank
// percentile: Hyndman and Fan 1996, definition 1; Jaccard 1901; attention mass kept: H2O (Zhang et al.
// 2023), figure 2; needles: Kamradt 2023.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/api/ids.h"
#include "core/api/summary.h"

namespace kvlab {

/// An entry of `kvlab list metrics`.
struct MetricName {
  std::string_view id, title;
};
/// All figures that reports carry, in the order of help.
std::span<const MetricName> metrics();

/// KL(p || q) of the softmaxes of two logit vectors [vocab], nats: sum p_i (ln p_i - ln q_i).
double klDivergence(std::span<const float> p, std::span<const float> q);

/// The likeliest token; the lowest id among equals, -1 for an empty list.
TokenId likeliestToken(std::span<const float> logits);

/// Share of the attention `mass` [rows], all >= 0, that falls on rows that are `resident` [rows]:
/// sum of mass where resident / sum of mass.
double massKept(std::span<const float> mass, std::span<const std::uint8_t> resident);

/// |A and B| / |A or B| of two sets over the same tokens [tokens]; 1 for two empty sets.
double jaccard(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

/// Share of `needles`, indices below resident.size(), that are resident.
double survival(std::span<const std::uint8_t> resident, std::span<const std::int32_t> needles);

/// Relative L2 error |q - p| / |p| of two vectors; 0 where they are equal.
double relativeError(std::span<const float> p, std::span<const float> q);

/// Summary of samples in order of time; samples that are not-a-number do not count.
Summary summarise(std::span<const double> samples);

/// A series of samples whose summary, the one of all of them, is kept up to date. Adding a sample moves the larger
/// ones.
class Samples {
 public:
  void add(double sample) {
    if (std::isnan(sample)) return;
    m_sorted.insert(std::upper_bound(m_sorted.begin(), m_sorted.end(), sample), sample);
    m_sum += sample;
    m_last = sample;
  }
  Summary summary() const {
    const std::size_t n = m_sorted.size();
    if (n == 0) return {};
    const double upper = m_sorted[n / 2], lower = m_sorted[(n - 1) / 2];
    return {m_sum / static_cast<double>(n), m_last, (lower + upper) / 2, m_sorted[(99 * n + 99) / 100 - 1],
            static_cast<std::int64_t>(n)};
  }

 private:
  std::vector<double> m_sorted;
  double m_sum = 0, m_last = 0;
};

}  // namespace kvlab
