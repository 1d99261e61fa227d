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

/// Harm that a pass has done. No later check looks at that pass again, so a violation with harm stays known until the
/// rows or logits are gone, or were computed again.
struct Harm {
  std::optional<LedgerId> row = {};  // in the violation's layer or behind it; without a layer, in any
  bool read = false;                 // full checks read the row again, see CheckInput::doubted
  bool old = false;                  // a commit before the last one may have done it
  bool logits = false;               // of the next token
  bool more = false;                 // in further rows of the commit, which are not named

  bool any() const { return row || logits || more; }
};

/// The violations of one invariant: the first 16, and the number of further ones. Lives for one check.
class Findings {
 public:
  static constexpr std::int64_t kKept = 16;

  /// harms: [out], or null = nobody asks.
  Findings(std::string_view invariant, std::vector<Violation>& out, std::vector<Harm>* harms = nullptr)
      : m_invariant(invariant), m_out(out), m_harms(harms) {}
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;
  /// Appends the number of omitted violations to the last one.
  ~Findings();

  void add(const Place& place, std::string detail, const Harm& harm = {});
  std::int64_t count() const { return m_count; }

 private:
  std::string_view m_invariant;
  std::vector<Violation>& m_out;
  std::vector<Harm>* m_harms;
  std::int64_t m_count = 0;
  bool m_moreHarm = false;  // among the omitted ones
};

#define KVLAB_INVARIANT(id, function, of, cheap, title) void function(const CheckInput& input, Findings& findings);
#include "core/check/invariants.inc"
#undef KVLAB_INVARIANT

// Recomputes rows that are not new. K and V of the first layer follow from a row's token alone, whatever was edited; in
// the layers behind, those of a row that is labelled exact follow from the stored rows that it sees. A full check takes
// some rows that the last commit wrote and some others to the first layer, and one row through all layers; eight cheap
// ones of a scrub period take one row each to the first layer. A row that came from a file, or was converted, may
// differ by the rounding of all types that it has passed through (core/state/rounding.h). The tick chooses the rows.
// Engine thread.

/// Of a full check: reads the doubted rows again, and if none of them is wrong now, all rows in the first layer: a
/// sample that finds nothing proves nothing.
void checkDoubtedRows(const CheckInput& input, Findings& findings);
void checkOldRows(const CheckInput& input, Findings& findings);

}  // namespace kvlab
