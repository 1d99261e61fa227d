// SPDX-License-Identifier: Apache-2.0
// The checks of invariants.inc, with what they find; the file with the invariant's name defines each. Some checks have
// parts in files of their own. Engine thread.
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

#define KVLAB_INVARIANT(id, function, of, cheap, title) \
  void function(const CheckInput& input, std::vector<Violation>& out);
#include "core/check/invariants.inc"
#undef KVLAB_INVARIANT

// Derives the culling of a tick a second time from the state before: how many pairs leave, which ones, and which tokens
// replace them; and checks that the commit has carried it out. A full check compares the token with the whole
// vocabulary, a cheap one with a part. semantics.md, section 4. Engine thread.

/// A tick has asked culling, and the state that it began with is there.
void checkCulledPairs(const CheckInput& input, Findings& findings);

// The logits of the next token where no pass of the last commit made them: behind a step through history, a load, a
// change of storage, or a question that computed stale logits anew. Engine thread.

/// Takes the newest token through all layers over the stored rows, in another implementation of the decoder
/// (scalar_decoder.h), and compares the logits of the state. It compares nothing if policies let rows go behind the
/// pass, with a kind that derives its context, or if products round their factors.
void checkToldLogits(const CheckInput& input, Findings& findings);

// Recomputes rows that are not new. K and V of the first layer follow from a row's token alone, whatever was edited; in
// the layers behind, those of a row that is labelled exact follow from the stored rows that it sees. A full check takes
// some rows that the last commit wrote and some others to the first layer, and one row through all layers; a cheap one
// takes one row to the first layer. A row that came from a file, or was converted, may differ by the rounding of all
// types that it has passed through (core/state/rounding.h). The tick chooses the rows. Engine thread.

void checkOldRows(const CheckInput& input, Findings& findings);

}  // namespace kvlab
