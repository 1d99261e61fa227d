// SPDX-License-Identifier: Apache-2.0
// The checks of invariants.inc, with what they find; the file with the invariant's name defines each. Engine thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/api/report.h"
#include "core/check/invariant.h"

namespace kvlab {

/// The place of a violation; fields that do not apply stay empty.
struct Place {
  std::optional<CacheLayer> layer = {};
  std::optional<std::size_t> index = {};
  std::optional<LedgerId> ledger = {};
};

/// The place of an index of a list, with the row that stands there.
Place placeIn(std::optional<CacheLayer> layer, std::size_t index, const Column<LedgerId>& rows);

/// The violations of one invariant: the first 16, and the number of further ones. Lives for one check.
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

#define KVLAB_INVARIANT(id, function, of, cheap, title) void function(const CheckInput& input, Findings& findings);
#include "core/check/invariants.inc"
#undef KVLAB_INVARIANT

// Recomputes rows that are not new. K and V of the first layer follow from a row's token alone, whatever was edited; in
// the layers behind, those of a row that is labelled exact follow from the stored rows that it sees. A full check takes
// some rows that the last commit wrote and some others to the first layer, and one row through all layers; a cheap one
// takes one row to the first layer. A row that came from a file, or was converted, may differ by the rounding of all
// types that it has passed through (core/state/rounding.h). The tick chooses the rows. Engine thread.

void checkOldRows(const CheckInput& input, Findings& findings);

}  // namespace kvlab
