// SPDX-License-Identifier: Apache-2.0
// Counts findings by kind, verb and code, with what their sessions have in common, and prints the table. One thread.
#pragma once
#include <map>
#include <set>
#include <tuple>

#include "property/random_sessions/known.h"

namespace kvlab::random_sessions {

class Tally {
 public:
  explicit Tally(const KnownList& known) : m_known(known) {}

  /// True for the first finding of its kind, verb and code, and for the first that no entry of the list covers.
  bool add(std::uint64_t seed, const Played& played);
  /// Findings that no entry of the list covers.
  int unknown() const { return m_unknown; }
  void print() const;

 private:
  struct Row {
    int count = 0, unknown = 0;
    std::vector<std::uint64_t> seeds;  // the first few
    std::set<std::string> common;      // features of every session
    std::string detail;                // detail of the first finding
  };
  using Key = std::tuple<std::string, std::string, std::string>;

  const KnownList& m_known;
  std::map<Key, Row> m_rows;
  std::map<std::string, int> m_unopened, m_seen;
  std::int64_t m_sessions = 0, m_calls = 0, m_refused = 0;
  int m_unknown = 0;
};

}  // namespace kvlab::random_sessions
