// SPDX-License-Identifier: Apache-2.0
// Joins cells that differ in nothing but their seed.
#include <algorithm>
#include <cmath>

#include "core/api/sweep_table.h"

namespace kvlab {
namespace {

constexpr int kResamples = 2000;

/// splitmix64 (Steele, Lea, Flood 2014) from a fixed start.
class Draws {
 public:
  std::size_t below(std::size_t n) {
    m_state += 0x9e3779b97f4a7c15u;
    std::uint64_t z = m_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>((z ^ (z >> 31)) % n);
  }

 private:
  std::uint64_t m_state = 1;
};

std::pair<double, double> bootstrap(const std::vector<std::pair<int, int>>& stories) {
  Draws draws;
  std::vector<double> means;
  for (int i = 0; i < kResamples; ++i) {
    int right = 0, asked = 0;
    for (std::size_t k = 0; k < stories.size(); ++k) {
      const auto& story = stories[draws.below(stories.size())];
      right += story.first;
      asked += story.second;
    }
    means.push_back(asked ? static_cast<double>(right) / asked : 0);
  }
  std::sort(means.begin(), means.end());
  return {means[kResamples * 25 / 1000], means[kResamples * 975 / 1000 - 1]};
}

class Mean {
 public:
  void add(std::optional<double> value) {
    if (!value) return;
    m_sum += *value;
    ++m_count;
  }
  std::optional<double> value() const { return m_count ? std::optional(m_sum / m_count) : std::nullopt; }

 private:
  double m_sum = 0;
  int m_count = 0;
};

SweepPoint together(const std::vector<const SweepRow*>& rows) {
  const SweepRow& first = *rows.front();
  SweepPoint point{first.prompts, first.ask, first.series(), first.budget};
  std::vector<std::pair<int, int>> stories;
  Mean kl, answer, bytes, share;
  for (const SweepRow* row : rows) {
    ++point.cells;
    point.failed += row->error.has_value();
    stories.insert(stories.end(), row->byStory.begin(), row->byStory.end());
    kl.add(row->measure("kl_mean"));
    answer.add(row->measure("kl_answer"));
    bytes.add(row->measure("bytes_live"));
    const auto live = row->measure("bytes_live"), all = row->measure("bytes_reference");
    if (live && all && *all > 0) share.add(*live / *all);
  }
  point.stories = static_cast<int>(stories.size());
  for (const auto& [right, asked] : stories) {
    point.right += right;
    point.asked += asked;
  }
  if (point.asked) {
    point.recall = static_cast<double>(point.right) / point.asked;
    std::tie(point.low, point.high) = bootstrap(stories);
  }
  point.kl = kl.value();
  point.klAnswer = answer.value();
  point.bytes = bytes.value();
  point.share = share.value();
  return point;
}

}  // namespace

std::vector<SweepPoint> sweepPoints(std::span<const SweepRow> rows) {
  std::vector<std::vector<const SweepRow*>> groups;
  const auto same = [](const SweepRow& a, const SweepRow& b) {
    return a.prompts == b.prompts && a.ask == b.ask && a.axes == b.axes;
  };
  for (const SweepRow& row : rows) {
    const auto found =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return same(*group.front(), row); });
    if (found == groups.end()) groups.push_back({&row});
    else found->push_back(&row);
  }
  std::vector<SweepPoint> out;
  for (const auto& group : groups) out.push_back(together(group));
  return out;
}

std::pair<double, double> wilson(int right, int asked) {
  if (asked <= 0) return {0, 1};
  constexpr double z = 1.959963984540054;
  const double n = asked, p = right / n, z2 = z * z;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = z / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace kvlab
