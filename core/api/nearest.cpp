// SPDX-License-Identifier: Apache-2.0
#include "core/api/nearest.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace kvlab {
namespace {

constexpr std::size_t kMost = 3, kLongest = 64, kShortestBeginning = 3;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Letters changed, added, left out or swapped with a neighbour that make one text of the other.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> nearest(std::string_view name, const std::vector<std::string>& names) {
  if (name.empty() || name.size() > kLongest) return {};
  const std::string wanted = lower(name);
  const std::size_t most = std::max<std::size_t>(1, wanted.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& one : names) {
    const std::string other = lower(one);
    const bool begins = wanted.size() >= kShortestBeginning && other.starts_with(wanted);
    const std::size_t far = begins ? 1 : distance(wanted, other);
    if (other.size() <= kLongest && far <= most) near.emplace_back(far, one);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (const auto& [far, one] : near)
    if (out.size() < kMost && far <= near.front().first + 1) out.push_back(one);
  return out;
}

std::string nearestNote(std::string_view name, const std::vector<std::string>& names) {
  const std::vector<std::string> near = nearest(name, names);
  if (near.empty()) return {};
  std::string out = near.size() == 1 ? "; the nearest is " : "; the nearest are ";
  for (std::size_t i = 0; i < near.size(); ++i) out += (i ? ", " : "") + near[i];
  return out;
}

}  // namespace kvlab
