// SPDX-License-Identifier: Apache-2.0
#include "core/kinds/wlod/tree/working_context.h"

#include <algorithm>

namespace kvlab {
namespace {

Error refuse(const char* code, const LodEdit& edit, std::string why, std::string remedy) {
  return Error(code, std::string(edit.expand ? "expand" : "collapse") + " was refused", std::move(why),
               std::move(remedy), "node", edit.node.id().value());
}

/// A column with the values [begin, begin + count) replaced.
template <class T>
Column<T> swapped(const Column<T>& column, std::int32_t begin, std::int32_t count, std::span<const T> others) {
  return Column<T>::make(column.size() - at(count) + others.size(), [&](T* out) {
    out = std::copy_n(column.begin(), begin, out);
    out = std::copy(others.begin(), others.end(), out);
    std::copy(column.begin() + begin + count, column.end(), out);
  });
}

}  // namespace

std::optional<std::int32_t> WorkingRules::pinnedIn(Moments moments) const {
  const auto found = std::lower_bound(pinned.begin(), pinned.end(), moments.begin);
  return found == pinned.end() || *found >= moments.end ? std::nullopt : std::optional(*found);
}

std::int32_t WorkingContext::entryAt(std::int32_t moment) const {
  const auto after = std::upper_bound(m_entries.begin(), m_entries.end(), moment,
                                      [](std::int32_t t, TreeNode entry) { return t < entry.start; });
  return static_cast<std::int32_t>(after - m_entries.begin()) - 1;
}

bool WorkingContext::hasEntry(TreeNode node) const {
  return node.start >= 0 && node.start < length() && m_entries[at(entryAt(node.start))] == node;
}

std::optional<std::int32_t> WorkingContext::age(std::int32_t entry) const {
  if (m_changed[at(entry)] == kNever) return std::nullopt;
  return m_round - m_changed[at(entry)];
}

Status WorkingContext::fits(std::int32_t entries, const WorkingRules& rules) {
  if (entries <= rules.budget) return ok();
  return Error("over_budget", "the working context is full",
               std::to_string(entries) + " entries, the budget is " + std::to_string(rules.budget),
               "collapse blocks first, or raise wlod.budget in the manifest", "budget", rules.budget);
}

WorkingContext WorkingContext::of(std::span<const TreeNode> entries) {
  return of(entries, std::vector<std::int32_t>(entries.size(), kNever), 0);
}

WorkingContext WorkingContext::of(std::span<const TreeNode> entries, std::span<const std::int32_t> changed,
                                  std::int32_t round) {
  WorkingContext made;
  made.m_entries.assign(entries);
  made.m_changed.assign(changed);
  made.m_round = round;
  return made;
}

Result<WorkingContext> WorkingContext::appended(std::int32_t tokens, const WorkingRules& rules) const {
  return resized(length() + tokens, rules);
}

Result<WorkingContext> WorkingContext::resized(std::int32_t to, const WorkingRules& rules) const {
  const std::int32_t keep = to < length() ? entryAt(to) : cost();
  const TreeNode first = keep < cost() ? m_entries[at(keep)] : TreeNode{0, length()};
  std::vector<TreeNode> fresh;
  for (std::int32_t t = first.start; t < to; t = fresh.back().end())
    fresh.push_back({first.level == kTopLevel && t + kGistBlock <= to ? 1 : 0, t});
  KV_TRY(fits(keep + static_cast<std::int32_t>(fresh.size()), rules));
  WorkingContext out = *this;
  out.m_entries = m_entries.prefix(at(keep));
  out.m_changed = m_changed.prefix(at(keep));
  out.m_entries.append(fresh);
  out.m_changed.append(std::vector<std::int32_t>(fresh.size(), kNever));
  return out;
}

WorkingContext WorkingContext::nextRound() const {
  WorkingContext next = *this;
  ++next.m_round;
  return next;
}

std::optional<Error> WorkingContext::refuseAge(std::int32_t begin, std::int32_t end, const LodEdit& edit,
                                               const WorkingRules& rules) const {
  for (std::int32_t i = begin; i < end; ++i)
    if (const auto rounds = age(i); rounds && *rounds < rules.cooldown)
      return refuse("cooldown", edit,
                    m_entries[at(i)].text() + " was changed " + std::to_string(*rounds) +
                        " rounds ago, the cooldown is " + std::to_string(rules.cooldown),
                    "wait for " + std::to_string(rules.cooldown - *rounds) +
                        " more rounds of refocusing, or lower wlod.cooldown");
  return std::nullopt;
}

std::optional<Error> WorkingContext::refuseExpand(const LodEdit& edit, const WorkingRules& rules) const {
  const TreeNode node = edit.node;
  if (node.level == 0) return refuse("no_children", edit, node.text() + " has no children", "expand a gist");
  const std::int32_t entry = entryAt(node.start);
  if (m_entries[at(entry)] != node)
    return refuse("not_an_entry", edit, node.text() + " is no entry: " + m_entries[at(entry)].text() + " stands there",
                  "expand an entry of the working context");
  return refuseAge(entry, entry + 1, edit, rules);
}

std::optional<Error> WorkingContext::refuseCollapse(const LodEdit& edit, const WorkingRules& rules) const {
  const TreeNode node = edit.node;
  if (node.level == 0) return refuse("no_children", edit, node.text() + " is no gist", "collapse to a gist");
  const std::int32_t entry = entryAt(node.start);
  for (std::int32_t i = 0; i < kGistBlock; ++i)
    if (entry + i >= cost() || m_entries[at(entry + i)] != node.child(i))
      return refuse("partial", edit,
                    "not all 32 children of " + node.text() + " are entries: child " + std::to_string(i) + ", " +
                        node.child(i).text() + ", is not",
                    "collapse or expand what stands there until the 32 siblings are of one level");
  if (node.end() > length() - rules.protectedTail)
    return refuse("protected_tail", edit,
                  node.text() + " reaches into the last " + std::to_string(rules.protectedTail) + " moments before " +
                      std::to_string(length()),
                  "collapse an older block, or lower wlod.protected_tail");
  if (const auto moment = rules.pinnedIn(node.moments()))
    return refuse("pinned", edit, TreeNode{0, *moment}.text() + " in " + node.text() + " is pinned", "unpin it first");
  return refuseAge(entry, entry + kGistBlock, edit, rules);
}

std::optional<Error> WorkingContext::refusal(const LodEdit& edit, const WorkingRules& rules) const {
  const TreeNode node = edit.node;
  if (node.level < 0 || node.level > kTopLevel || node.start < 0 || node.start >= kMostMoments)
    return refuse("unknown_node", edit, "there is no such node",
                  "name a node of the tree; its id is start * 4 + level");
  if (!node.aligned())
    return refuse("misaligned", edit, node.text() + " does not start at a multiple of " + std::to_string(node.span()),
                  "the node that holds it is " + node.at(node.level).text());
  if (node.end() > length())
    return refuse("unknown_node", edit,
                  node.text() + " is not complete: the time line ends at " + std::to_string(length()),
                  "name a node that is complete");
  return edit.expand ? refuseExpand(edit, rules) : refuseCollapse(edit, rules);
}

/// Applies an edit that refusal() allows.
void WorkingContext::apply(const LodEdit& edit) {
  std::vector<TreeNode> fresh;
  for (std::int32_t i = 0; edit.expand && i < kGistBlock; ++i) fresh.push_back(edit.node.child(i));
  if (!edit.expand) fresh.push_back(edit.node);
  const std::vector<std::int32_t> rounds(fresh.size(), m_round);
  const std::int32_t begin = entryAt(edit.node.start), count = edit.expand ? 1 : kGistBlock;
  m_entries = swapped<TreeNode>(m_entries, begin, count, fresh);
  m_changed = swapped<std::int32_t>(m_changed, begin, count, rounds);
}

Result<WorkingContext::Edited> WorkingContext::edited(std::span<const LodEdit> edits, const WorkingRules& rules) const {
  Edited out{*this, {}};
  int last = 0;  // the last expansion
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (std::optional<Error> refused = out.context.refusal(edits[i], rules)) {
      refused->action = static_cast<int>(i);
      return *refused;
    }
    out.context.apply(edits[i]);
    if (edits[i].expand) last = static_cast<int>(i);
  }
  if (Status room = fits(out.context.cost(), rules); !room && !edits.empty()) {
    Error error = refuse("over_budget", edits[at(last)], room.error().why, room.error().remedy);
    error.action = last;
    return error;
  }
  out.swaps = differences(m_entries.span(), out.context.m_entries.span());
  return out;
}

WorkingContext WorkingContext::ownCopy() const {
  WorkingContext copy = *this;
  copy.m_entries = m_entries.ownCopy();
  copy.m_changed = m_changed.ownCopy();
  return copy;
}

std::vector<Swap> differences(std::span<const TreeNode> before, std::span<const TreeNode> after) {
  std::vector<Swap> out;
  std::size_t b = 0, a = 0;
  while (b < before.size() && a < after.size()) {
    if (before[b] == after[a]) {
      ++b, ++a;
      continue;
    }
    Swap swap{{before[b].start, 0}, static_cast<std::int32_t>(b), 0, static_cast<std::int32_t>(a), 0};
    const auto met = [&] { return b == before.size() || a == after.size() || before[b] == after[a]; };
    while (!met()) before[b].end() <= after[a].end() ? ++b : ++a;
    swap.countBefore = static_cast<std::int32_t>(b) - swap.beginBefore;
    swap.countAfter = static_cast<std::int32_t>(a) - swap.beginAfter;
    swap.moments.end = before[b - 1].end();
    out.push_back(swap);
  }
  return out;
}

namespace {

/// First moment of the finer of two levels: `wish` moments before the end, rounded down to a multiple of the coarser
/// level's span.
std::int32_t border(std::int32_t length, std::int32_t wish, int coarse) {
  return std::max(0, length - wish) / spanOf(coarse) * spanOf(coarse);
}

/// A tiling with LOD2 up to `lod1From`, LOD1 up to `tokensFrom`, then tokens; blocks with pinned tokens are finer.
std::vector<TreeNode> tiling(std::int32_t lod1From, std::int32_t tokensFrom, std::int32_t length,
                             const WorkingRules& rules) {
  std::vector<TreeNode> out;
  for (std::int32_t t = 0; t < length; t = out.back().end()) {
    int level = t < lod1From ? 2 : t < tokensFrom ? 1 : 0;
    while (level > 0 && (t % spanOf(level) || rules.pinnedIn({t, t + spanOf(level)}))) --level;
    out.push_back({level, t});
  }
  return out;
}

std::int32_t costOf(std::int32_t lod1From, std::int32_t tokensFrom, std::int32_t length, const WorkingRules& rules) {
  if (!rules.pinned.empty()) return static_cast<std::int32_t>(tiling(lod1From, tokensFrom, length, rules).size());
  return lod1From / spanOf(2) + (tokensFrom - lod1From) / spanOf(1) + length - tokensFrom;
}

/// First moments of tokens and of LOD1 in the coarsest tiling.
std::pair<std::int32_t, std::int32_t> coarsest(std::int32_t length, const WorkingRules& rules) {
  const std::int32_t tokensFrom = border(length, rules.protectedTail, 1);
  return {tokensFrom, border(tokensFrom, 0, 2)};
}

}  // namespace

std::int32_t coarsestCost(std::int32_t length, const WorkingRules& rules) {
  const auto [tokensFrom, lod1From] = coarsest(length, rules);
  return costOf(lod1From, tokensFrom, length, rules);
}

Result<WorkingContext> coldStart(std::int32_t length, const ColdStart& wish, const WorkingRules& rules) {
  auto [tokensFrom, lod1From] = coarsest(length, rules);
  KV_TRY(WorkingContext::fits(costOf(lod1From, tokensFrom, length, rules), rules));
  const auto refine = [&](std::int32_t& from, std::int32_t least, int coarse) {
    while (from > least) {
      from -= spanOf(coarse);
      if (costOf(lod1From, tokensFrom, length, rules) <= rules.budget) continue;
      from += spanOf(coarse);
      return;
    }
  };
  refine(lod1From, border(length, std::max(wish.tokens, rules.protectedTail) + wish.gists, 2), 2);
  refine(tokensFrom, std::max(lod1From, border(length, wish.tokens, 1)), 1);
  return WorkingContext::of(tiling(lod1From, tokensFrom, length, rules));
}

}  // namespace kvlab
