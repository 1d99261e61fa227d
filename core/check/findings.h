// SPDX-License-Identifier: Apache-2.0
// The violations of one invariant: the first 16, and the number of further ones. Lives for one check; engine thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/api/report.h"

namespace kvlab {

/// The place of a violation; fields that do not apply stay empty.
struct Place {
  std::optional<CacheLayer> layer = {};
  std::optional<std::size_t> index = {};
  std::optional<LedgerId> ledger = {};
};

class Findings {
 public:
  static constexpr std::int64_t kKept = 16;

  Findings(std::string_view invariant, std::vector<Violation>& out) : m_invariant(invariant), m_out(out) {}
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;
  /// Appends the number of omitted violations to the last one.
  ~Findings();

  void add(const Place& place, std::string detail);
  std::int64_t count() const { return m_count; }

 private:
  std::string_view m_invariant;
  std::vector<Violation>& m_out;
  std::int64_t m_count = 0;
};

}  // namespace kvlab
