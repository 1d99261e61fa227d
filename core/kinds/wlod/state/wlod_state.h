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
#include "core/kinds/wlod/tree/coverage.h"
#include "core/kinds/wlod/tree/focus_allocator.h"
#include "core/kinds/wlod/tree/invalidation.h"
#include "core/kinds/wlod/tree/mega_context.h"
#include "core/kinds/wlod/tree/working_context.h"
#include "core/state/cache_state.h"

namespace kvlab {

/// Rules for attention, phases and focus. Only costs and pins change while the session is open.
struct WlodRules {
  WlodAttention attention = WlodAttention::Flat;
  PyramidRules pyramid = {};
  double sigma = 1;  // blur of a gist, in halves of its span; 0 = no damping
  WorkingRules working = {};
  ColdStart start = {};
  FocusRules focus = {};
  bool means = true;             // gists are means of their tokens; else a network made them
  double selectiveRatio = 0.15;  // share of the old dirty rows that are computed again
  double keepDrift = 0.1;        // deviation of layer 1, relative L2, up to which old dirty rows are kept
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

class WlodState : public KindState {
 public:
  WlodRules rules;
  MegaContext tree;
  WorkingContext context;
  Column<WlodRow> rows;     // wlodRows() of the context
  Column<LedgerId> ledger;  // [rows]
  std::vector<bool> stale;  // [rows] not computed again by `selective` or `keep`; empty = none

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

  bool derivesContext() const override { return true; }
  std::shared_ptr<const KindState> ownCopy() const override;
  void hash(StateHasher& hasher) const override;
  void addTo(StateBuffers& buffers) const override;
  const CacheState* draftedFrom() const override { return draft ? draft->before.get() : nullptr; }
  TokenSpan tokensAt(Position position) const override;
  double blurAt(Position position) const override;
  Status pinnable(const CacheState& state, LedgerId id) const override;
  std::shared_ptr<const ResidencyView> inContext(const CacheState& state, const ResidencyView& stored) const override;
  std::optional<std::vector<double>> inputOf(const CacheState& state, LedgerId id,
                                             const Embedding& embed) const override;
  bool leftAsItWas(LedgerId id) const override;
  /// For checks: the gist of a node, made anew where it is a mean of tokens.
  std::vector<double> gistOf(const CacheState& state, TreeNode node, const Embedding& embed) const;

 private:
  std::optional<std::size_t> rowOf(LedgerId id) const;
};

/// The state of a session that is known to be a wLOD session.
inline const WlodState& wlodIn(const CacheState& state) { return static_cast<const WlodState&>(*state.kind); }
/// Null in other sessions.
inline const WlodState* wlodOf(const CacheState& state) { return dynamic_cast<const WlodState*>(state.kind.get()); }

/// A copy of the session's state whose rules name the tokens that are pinned now.
std::shared_ptr<WlodState> withPins(const CacheState& state);

}  // namespace kvlab
