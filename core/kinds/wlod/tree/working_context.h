// SPDX-License-Identifier: Apache-2.0
// The working context tiles the time line with tokens and gists, without gap or overlap. Each entry costs 1 of the
// budget. Expanding replaces a gist by its 32 children, collapsing replaces 32 aligned siblings by their gist. A list
// of edits is applied whole or refused whole. coldStart() makes the first one of a time line. A value; engine thread.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "core/api/column.h"
#include "core/api/error.h"
#include "core/api/tree_node.h"

namespace kvlab {

struct WorkingRules {
  std::int32_t budget = 8192;             // entries
  std::int32_t protectedTail = 128;       // last moments that may not be collapsed
  std::int32_t cooldown = 2;              // rounds for which an edited entry keeps its level
  std::vector<std::int32_t> pinned = {};  // moments of tokens that do not collapse, ascending

  /// The first pinned token in some moments.
  std::optional<std::int32_t> pinnedIn(Moments moments) const;
};

struct LodEdit {
  bool expand = true;  // false: collapse
  TreeNode node;       // the gist to expand, or the one to collapse to
};

/// Old entries and the entries that replace them; both cover `moments`.
struct Swap {
  Moments moments;
  std::int32_t beginBefore = 0, countBefore = 0, beginAfter = 0, countAfter = 0;
};

class WorkingContext {
 public:
  static constexpr std::int32_t kNever = -1;

  const Column<TreeNode>& entries() const { return m_entries; }      // [cost] in time order
  const Column<std::int32_t>& changed() const { return m_changed; }  // [cost] round in which an edit made the entry
  std::int32_t cost() const { return static_cast<std::int32_t>(m_entries.size()); }
  std::int32_t length() const { return m_entries.empty() ? 0 : m_entries[m_entries.size() - 1].end(); }  // moments
  /// The entry that covers a moment below length().
  std::int32_t entryAt(std::int32_t moment) const;
  bool hasEntry(TreeNode node) const;
  std::int32_t round() const { return m_round; }
  /// Rounds since an edit made this entry; empty if no edit did.
  std::optional<std::int32_t> age(std::int32_t entry) const;

  /// Error over_budget if `entries` entries do not fit.
  static Status fits(std::int32_t entries, const WorkingRules& rules);
  /// The context with more tokens at its end. Errors: over_budget.
  Result<WorkingContext> appended(std::int32_t tokens, const WorkingRules& rules) const;
  /// The context of a time line of another length: entries that would end behind it leave, and finer ones fill the
  /// rest. Errors: over_budget.
  Result<WorkingContext> resized(std::int32_t length, const WorkingRules& rules) const;
  /// A context of the given entries, which tile [0, length); coldStart() makes such entries.
  static WorkingContext of(std::span<const TreeNode> entries);
  /// The same with the round in which an edit made each entry (kNever = none did), and the present round.
  static WorkingContext of(std::span<const TreeNode> entries, std::span<const std::int32_t> changed,
                           std::int32_t round);

  /// The error that refuses an edit by itself, without regard to the budget; empty if the edit is legal.
  std::optional<Error> refusal(const LodEdit& edit, const WorkingRules& rules) const;
  struct Edited;
  /// Applies the edits in order; the budget is checked for the result. Errors name the edit's index in the list
  /// (action) and the node: unknown_node, misaligned, not_an_entry, no_children, partial, cooldown, protected_tail,
  /// pinned, over_budget.
  Result<Edited> edited(std::span<const LodEdit> edits, const WorkingRules& rules) const;
  /// The context at the start of the next focus round.
  WorkingContext nextRound() const;
  /// A copy with its own columns, to be changed on another thread.
  WorkingContext ownCopy() const;

 private:
  std::optional<Error> refuseAge(std::int32_t begin, std::int32_t end, const LodEdit& edit,
                                 const WorkingRules& rules) const;
  std::optional<Error> refuseExpand(const LodEdit& edit, const WorkingRules& rules) const;
  std::optional<Error> refuseCollapse(const LodEdit& edit, const WorkingRules& rules) const;
  void apply(const LodEdit& edit);

  Column<TreeNode> m_entries;
  Column<std::int32_t> m_changed;
  std::int32_t m_round = 0;
};

struct WorkingContext::Edited {
  WorkingContext context;
  std::vector<Swap> swaps;  // ascending; neighbouring swaps are joined, restored entries are omitted
};

/// The differences between two tilings of the same time line; neighbouring differences are joined.
std::vector<Swap> differences(std::span<const TreeNode> before, std::span<const TreeNode> after);

// The working context of a new time line: tokens at the end, LOD1 before the tokens, LOD2 before LOD1, as far as blocks
// are complete and the budget lasts. Pinned tokens stay tokens. Pure; any thread.

struct ColdStart {
  std::int32_t tokens = 256;  // number of last moments that should be tokens
  std::int32_t gists = 2048;  // number of moments before these that should be LOD1 or finer
};

/// Entries of the coarsest tiling that keeps the protected tail as tokens.
std::int32_t coarsestCost(std::int32_t length, const WorkingRules& rules);

/// Starts with the coarsest tiling that keeps the protected tail as tokens, then refines from the end backwards while
/// the budget lasts. Error over_budget if the coarsest tiling does not fit.
Result<WorkingContext> coldStart(std::int32_t length, const ColdStart& wish, const WorkingRules& rules);

}  // namespace kvlab
