// SPDX-License-Identifier: Apache-2.0
#include "property/random_sessions/tally.h"

#include <algorithm>
#include <cstdio>

namespace kvlab::random_sessions {
namespace {

constexpr std::size_t kSeeds = 5;

std::string joined(const std::set<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace

bool Tally::add(std::uint64_t seed, const Played& played) {
  ++m_sessions;
  m_calls += played.calls;
  for (const auto& [verb, count] : played.refused) m_refused += count;
  if (!played.unopened.empty()) ++m_unopened[played.unopened];
  if (!played.finding) return false;
  const Failure& finding = *played.finding;
  const std::set<std::string> features = featuresOf(played.sequence);
  const Known* known = m_known.find(finding, features);
  Row& row = m_rows[{finding.kind, finding.verb, finding.code}];
  const bool news = row.count == 0 || (!known && row.unknown == 0);
  if (row.count++ == 0) row.common = features, row.detail = finding.detail;
  std::erase_if(row.common, [&](const std::string& one) { return !features.contains(one); });
  if (row.seeds.size() < kSeeds) row.seeds.push_back(seed);
  if (known) ++m_seen[known->what];
  else ++row.unknown, ++m_unknown;
  return news;
}

void Tally::print() const {
  std::printf("%lld sessions, %lld calls, %lld of them refused\n", static_cast<long long>(m_sessions),
              static_cast<long long>(m_calls), static_cast<long long>(m_refused));
  for (const auto& [code, count] : m_unopened) std::printf("%d manifests were refused with %s\n", count, code.c_str());
  std::vector<std::pair<Key, Row>> rows(m_rows.begin(), m_rows.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  std::printf("%6s %7s  %-18s %-14s %-22s seeds\n", "count", "unknown", "kind", "verb", "code");
  for (const auto& [key, row] : rows) {
    const auto& [kind, verb, code] = key;
    std::printf("%6d %7d  %-18s %-14s %-22s", row.count, row.unknown, kind.c_str(), verb.c_str(), code.c_str());
    for (const std::uint64_t seed : row.seeds) std::printf(" %llu", static_cast<unsigned long long>(seed));
    std::printf("\n%16s all: %s\n%16s first: %.300s\n", "", joined(row.common).c_str(), "", row.detail.c_str());
  }
  for (const Known& one : m_known.all())
    if (!m_seen.contains(one.what)) std::printf("not seen in this run: %s (%s)\n", one.what.c_str(), one.kind.c_str());
  std::printf("%d findings are not in the list of known ones\n", m_unknown);
}

}  // namespace kvlab::random_sessions
