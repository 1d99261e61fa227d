// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/model/decoder/sampler.h"

namespace kvlab {
namespace {

constexpr double kNotDefined = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::span<const MetricName> metrics() {
  static constexpr MetricName kMetrics[] = {
      {"drift_k", "relative L2 of each layer's keys against a rebuild"},
      {"drift_v", "relative L2 of each layer's values against a rebuild"},
      {"kl", "KL of the next token, reference (or rebuild) against live: mean, median, p99 and last, nats"},
      {"dnll", "negative log-likelihood of the taken tokens beyond the reference's, mean, nats"},
      {"top1", "share of ticks whose likeliest next token is the reference's"},
      {"mass_kept", "share of the reference's attention mass of the newest query on rows that are resident"},
      {"overlap", "Jaccard overlap of the resident tokens with the reference's, mean over the layers"},
      {"needles", "share of given tokens that are resident, per layer"},
      {"output_error", "relative L2 of a vector against the reference's"},
      {"bytes_moved", "row bytes read and written by the last commit"},
      {"bytes_live", "bytes of resident rows"},
      {"bytes_allocated", "bytes of the row pools"},
      {"weight_bytes", "bytes of weights that the ops of a tick read"},
      {"tick_us", "duration of a tick and of each of its steps"}};
  return kMetrics;
}

double klDivergence(std::span<const float> p, std::span<const float> q) {
  if (p.empty() || p.size() != q.size()) return kNotDefined;
  if (std::equal(p.begin(), p.end(), q.begin())) return 0;
  const double lp = logSumExp(p), lq = logSumExp(q);
  if (!std::isfinite(lp) || !std::isfinite(lq)) return kNotDefined;
  double kl = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (const double log = p[i] - lp; std::isfinite(log)) kl += std::exp(log) * (log - (q[i] - lq));
  return std::max(0.0, kl);
}

TokenId likeliestToken(std::span<const float> logits) {
  if (logits.empty()) return TokenId(-1);
  return TokenId(static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
}

double massKept(std::span<const float> mass, std::span<const std::uint8_t> resident) {
  if (mass.size() != resident.size()) return kNotDefined;
  double all = 0, kept = 0;
  for (std::size_t i = 0; i < mass.size(); ++i) {
    all += mass[i];
    if (resident[i]) kept += mass[i];
  }
  return all > 0 ? kept / all : kNotDefined;
}

double jaccard(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  if (a.size() != b.size()) return kNotDefined;
  std::int64_t both = 0, either = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += a[i] && b[i];
    either += a[i] || b[i];
  }
  return either ? static_cast<double>(both) / static_cast<double>(either) : 1;
}

double survival(std::span<const std::uint8_t> resident, std::span<const std::int32_t> needles) {
  if (needles.empty()) return kNotDefined;
  std::int64_t there = 0;
  for (const std::int32_t needle : needles) {
    if (needle < 0 || static_cast<std::size_t>(needle) >= resident.size()) return kNotDefined;
    there += resident[static_cast<std::size_t>(needle)] != 0;
  }
  return static_cast<double>(there) / static_cast<double>(needles.size());
}

double relativeError(std::span<const float> p, std::span<const float> q) {
  if (p.size() != q.size()) return kNotDefined;
  double apart = 0, length = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double d = double{q[i]} - double{p[i]};
    apart += d * d;
    length += double{p[i]} * double{p[i]};
  }
  if (apart == 0) return 0;
  return length > 0 ? std::sqrt(apart / length) : kNotDefined;
}

Summary summarise(std::span<const double> samples) {
  std::vector<double> sorted;
  Summary out;
  for (const double sample : samples) {
    if (std::isnan(sample)) continue;
    sorted.push_back(sample);
    out.mean += sample;
    out.last = sample;
  }
  out.count = static_cast<std::int64_t>(sorted.size());
  if (sorted.empty()) return out;
  out.mean /= static_cast<double>(sorted.size());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  out.median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  out.p99 = sorted[(99 * n + 99) / 100 - 1];
  return out;
}

}  // namespace kvlab
