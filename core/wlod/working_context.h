// SPDX-License-Identifier: Apache-2.0
// The working context: a tiling of the time line by tokens and gists, without gap or overlap, each entry at the
// cost of 1 within a budget. Expanding swaps a gist for its 32 children, collapsing 32 aligned siblings for their
// gist. A batch is checked and resolved whole; a refused one changes nothing. A value; engine thread.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "core/api/column.h"
#include "core/api/error.h"
#include "core/api/tree_node.h"

namespace kvlab {

struct WorkingRules {
  std::int32_t budget = 8192;        // entries
  std::int32_t protectedTail = 128;  // last moments that may not be collapsed
  std::int32_t cooldown = 2;         // rounds that an entry stays as an edit has left it
};

struct LodEdit {
  bool expand = true;  // false: collapse
  TreeNode node;       // the gist to expand, or the one to collapse to
};

/// Entries that others took the place of; both cover `moments`.
struct Swap {
  Moments moments;
  std::int32_t beginBefore = 0, countBefore = 0, beginAfter = 0, countAfter = 0;
};

class WorkingContext {
 public:
  const Column<TreeNode>& entries() const { return m_entries; }  // [cost] in time order
  std::int32_t cost() const { return static_cast<std::int32_t>(m_entries.size()); }
  std::int32_t length() const { return m_entries.empty() ? 0 : m_entries[m_entries.size() - 1].end(); }  // moments
  /// The entry that covers a moment below length().
  std::int32_t entryAt(std::int32_t moment) const;
  bool hasEntry(TreeNode node) const;
  std::int32_t round() const { return m_round; }
  /// Rounds since an edit made this entry; nothing where none did.
  std::optional<std::int32_t> age(std::int32_t entry) const;

  /// Whether so many more entries fit. Errors: over_budget.
  static Status fits(std::int32_t entries, const WorkingRules& rules);
  /// The context with tokens behind it. Errors: over_budget.
  Result<WorkingContext> appended(std::int32_t tokens, const WorkingRules& rules) const;
  /// The context with its tail of tokens from a moment on made longer or shorter. Errors: over_budget.
  Result<WorkingContext> resized(Moment tailBegin, std::int32_t length, const WorkingRules& rules) const;
  /// Entries that tile [0, length), as they are; cold_start.h makes them.
  static WorkingContext of(std::span<const TreeNode> entries);

  /// Why an edit alone cannot be; nothing where it can. The budget is not asked.
  std::optional<Error> refusal(const LodEdit& edit, const WorkingRules& rules) const;
  struct Edited;
  /// The edits one after another, the budget of the outcome. Errors name the edit's place in the list (action) and
  /// its node: unknown_node, misaligned, not_an_entry, no_children, partial, cooldown, protected_tail, over_budget.
  Result<Edited> edited(std::span<const LodEdit> edits, const WorkingRules& rules) const;
  /// The context at the beginning of the next round of refocusing.
  WorkingContext nextRound() const;
  /// The same in columns of its own, for another thread to change.
  WorkingContext ownCopy() const;

 private:
  static constexpr std::int32_t kNever = -1;
  std::optional<Error> refuseAge(std::int32_t begin, std::int32_t end, const LodEdit& edit,
                                 const WorkingRules& rules) const;
  std::optional<Error> refuseExpand(const LodEdit& edit, const WorkingRules& rules) const;
  std::optional<Error> refuseCollapse(const LodEdit& edit, const WorkingRules& rules) const;
  void apply(const LodEdit& edit);

  Column<TreeNode> m_entries;
  Column<std::int32_t> m_changed;  // [cost] round in which an edit made the entry
  std::int32_t m_round = 0;
};

struct WorkingContext::Edited {
  WorkingContext context;
  std::vector<Swap> swaps;  // ascending; neighbours together, what came back to itself left out
};

/// What differs between two tilings of the same time line, neighbouring differences together.
std::vector<Swap> differences(std::span<const TreeNode> before, std::span<const TreeNode> after);

}  // namespace kvlab
