// SPDX-License-Identifier: Apache-2.0
// The part of the state that wLOD sessions add: the tree over the time line, the working context over the tree, and the
// rows of both in order of arrival; their slots stand in LayerGroup::stored(). A value: history keeps whole ones.
// Engine thread; its columns are shared with snapshots. semantics.md, section 8.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "core/api/column.h"
#include "core/api/wlod_view.h"
#include "core/wlod/cold_start.h"
#include "core/wlod/coverage.h"
#include "core/wlod/focus_allocator.h"
#include "core/wlod/invalidation.h"
#include "core/wlod/mega_context.h"
#include "core/wlod/working_context.h"

namespace kvlab {

struct CacheState;

/// Rules for attention, phases and focus. Only costs and pins change while the session is open.
struct WlodRules {
  WlodAttention attention = WlodAttention::Flat;
  PyramidRules pyramid = {};
  double sigma = 1;  // blur of a gist, in halves of its span; 0 = no damping
  WorkingRules working = {};
  ColdStart start = {};
  FocusRules focus = {};
  double selectiveRatio = 0.15;  // share of the old dirty rows that are computed again
  std::int32_t every = 32;       // tokens between rounds of refocusing
  RecomputeCosts costs = {};

  /// Blur of the rotation of a node, in phases.
  double blurOf(TreeNode node) const { return node.level ? sigma * node.span() / 2 : 0; }
};

/// A speculative span: tokens from `begin` on may be rolled back.
struct WlodDraft {
  std::int32_t begin = 0;                    // moment
  std::shared_ptr<const CacheState> before;  // the state that a rollback restores; its rows keep their slots
};

struct WlodState {
  WlodRules rules;
  MegaContext tree;
  WorkingContext context;
  Column<WlodRow> rows;     // wlodRows() of the context
  Column<LedgerId> ledger;  // [rows]
  std::vector<bool> stale;  // [rows] not computed again by `selective`; empty = none

  std::vector<double> mass;                               // [entries] running mean of attention; empty = none yet
  std::vector<double> scores;                             // [entries] scores from a script; empty = none
  std::int32_t sinceRound = 0;                            // tokens since the last focus round
  std::vector<std::shared_ptr<const FocusRound>> rounds;  // the last kMostRounds, oldest first
  std::shared_ptr<const WlodChange> change;               // the last edit that did more than append; null = none
  std::optional<WlodDraft> draft;

  static constexpr std::size_t kMostRounds = 512;
  std::int32_t count() const { return static_cast<std::int32_t>(rows.size()); }
  /// Upper bound of the rows for a budget of entries, including summaries.
  static std::int32_t mostRows(std::int32_t entries) { return entries + entries / (kGistBlock / 2) + 2; }
  /// A copy with its own columns, for a session on another thread.
  WlodState ownCopy() const;
};

/// A copy of the session's state whose rules name the tokens that are pinned now.
std::shared_ptr<WlodState> withPins(const CacheState& state);

}  // namespace kvlab
