// SPDX-License-Identifier: Apache-2.0
// A wLOD session as readers see it: tree, working context, the rows that the last edit made dirty, and the rounds of
// the focus allocator. semantics.md, section 8. Built on the engine thread, read on any thread.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/api/column.h"
#include "core/api/ids.h"
#include "core/api/tree_node.h"

namespace kvlab {

/// A row of a session: an entry of the working context, or a summary beside it.
struct WlodRow {
  TreeNode node;
  bool entry = true;
  bool operator==(const WlodRow&) const = default;
};

/// The reason why a row had to be computed again: the row holds the edit, the row's past holds the edit, or both.
enum class DirtyWhy : std::uint8_t { Clean, Hierarchical, Temporal, Both };
constexpr const char* name(DirtyWhy why) {
  constexpr const char* kNames[] = {"clean", "hierarchical", "temporal", "both"};
  return kNames[static_cast<int>(why)];
}

/// A change: entries were swapped, or tokens appended or replaced.
struct TimelineChange {
  Moments moments;
  bool content = false;  // other tokens: the embeddings above them change as well
};

/// The last edit that made more rows dirty than it appended.
struct WlodChange {
  Tick tick;
  std::vector<TimelineChange> edits;
  std::int32_t earliest = 0;    // moment from which on everything was dirty
  std::vector<TreeNode> nodes;  // [rows] as they stood right after it, in order of arrival
  std::vector<DirtyWhy> why;    // [rows]
  std::vector<bool> layer0;     // [rows] computed except for layer 0, which stayed
  std::vector<TreeNode> gists;  // tree nodes whose embedding was made anew
  std::int32_t swapped = 0;     // entries that stand in place of others
  std::int32_t computed = 0;    // rows computed, by a full recompute all
  std::int32_t kept = 0;        // dirty rows that `selective` left as they were
  bool full = false;
  std::string reason;                    // the reason for incremental or full
  double share = 0;                      // share of dirty rows among all rows
  double incrementalUs = 0, fullUs = 0;  // estimates of the cost model
  double us = 0;                         // measured, microseconds
  std::int64_t bytes = 0;                // K/V written
};

/// A candidate of a round, and its outcome.
struct FocusDecision {
  TreeNode node;
  bool expand = true;
  double score = 0;
  bool done = false;
  std::string
      code;  // accepted, makes_room, edit_limit, over_budget, overlap, cooldown, protected_tail, deferred, pinned
  std::string reason;  // one sentence with the figures
};

struct FocusRound {
  std::int32_t round = 0;
  Tick tick;
  std::int32_t length = 0, budget = 0, before = 0, after = 0;  // moments; entries
  std::vector<FocusDecision> decisions;                        // in the order they were made
  std::int32_t unlisted = 0;                                   // candidates beyond the limit of edits, not listed
};

/// Ratios of the last change as shares of 0 .. 1; not-a-number before the first change.
struct WlodRatios {
  double spatial = 0;                                // share of rows that held the last change
  double temporal = 0;                               // share of rows that only came after the change
  double hits = 0;                                   // share of (row, layer) pairs that the change left in place
  double swaps = 0;                                  // share of entries that the change put in place of others
  std::array<double, kTopLevel + 1> residency = {};  // moments that stand as tokens, LOD1, LOD2
};

/// Losses of the next tokens in nats: behind the whole text, gists of a network, means, as many of the text's last
/// tokens as there are gists, and nothing.
struct GistLosses {
  double full = 0, trained = 0, mean = 0, truncation = 0, nothing = 0;
};

/// Losses with a gist network on text that its training has not seen.
struct GistFigures {
  int level = 1;
  std::int64_t tokens = 0;  // that were measured
  GistLosses nll, kl;       // kl: to what the model says behind the whole text
};

struct WlodView {
  std::string attention;              // "flat", "pyramid"
  std::string gist, lens;             // by name
  std::vector<GistFigures> figures;   // figures of the gists, by level; empty = not measured
  std::string notice;                 // reason why the gists may be worth less than as many last tokens; empty = none
  std::int32_t near = 0, middle = 0;  // W and W2, moments
  double sigma = 1;
  std::int32_t moments = 0;           // length of the time line
  std::int32_t budget = 0;            // entries
  std::int32_t protectedFrom = 0;     // moments from here on may not be collapsed
  Column<LedgerId> tokens;            // [moments] the text behind gists
  Column<TreeNode> entries;           // [entries] the working context; index = position of the snapshot's context
  Column<WlodRow> rows;               // in order of arrival, summaries among them
  std::vector<float> mass;            // [entries] attention that the lens uses; empty = none yet
  std::vector<float> scores;          // [entries] -1 .. 1, above 0 = wants detail; empty = none yet
  std::vector<std::int32_t> cooling;  // [entries] rounds until an entry may be edited; 0 = now
  std::optional<Moments> draft;       // a speculative span
  std::shared_ptr<const WlodChange> change;               // null before
  std::vector<std::shared_ptr<const FocusRound>> rounds;  // oldest first
  WlodRatios ratios;
};

}  // namespace kvlab
