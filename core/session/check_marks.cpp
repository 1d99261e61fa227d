// SPDX-License-Identifier: Apache-2.0
#include "core/session/check_marks.h"

#include <algorithm>

#include "core/check/checks.h"

namespace kvlab {
namespace {

std::uint32_t bit(std::size_t invariant) { return std::uint32_t{1} << invariant; }

std::int64_t named(const std::vector<Violation>& violations, std::string_view invariant) {
  return std::ranges::count(violations, invariant, &Violation::invariant);
}

}  // namespace

CheckMarks::CheckMarks() : m_last(invariants().size()), m_passed(m_last), m_slices(1) {}

/// A violation of the state can hide violations of invariants that follow in the list. A wrong row hides no other row,
/// unless there are more than a check names.
CheckMade CheckMarks::made(const std::vector<Violation>& violations, bool full, std::int64_t part, std::int64_t parts) {
  CheckMade out{.full = full, .part = static_cast<std::int32_t>(part), .parts = static_cast<std::int32_t>(parts)};
  bool hidden = false;
  for (std::size_t i = 0; i < invariants().size(); ++i) {
    const Invariant& one = invariants()[i];
    const std::int64_t found = named(violations, one.id);
    const bool unread = one.of == Of::Rows &&
        std::ranges::any_of(violations, [&](const Violation& v) { return v.invariant == one.id && !v.ledger; });
    hidden = hidden || (found > 0 && one.of == Of::State);
    if (hidden) break;
    if (found == 0) out.held |= bit(i);
    if (found < Findings::kKept && !unread) out.rest |= bit(i);
  }
  return out;
}

bool CheckMarks::anyNamed(const std::vector<CheckMade>& checks) {
  const std::uint32_t all = bit(invariants().size()) - 1;
  return std::ranges::any_of(checks, [all](const CheckMade& one) { return one.held != all; });
}

void CheckMarks::add(const CheckMade& made, const CheckMark& mark) {
  if (std::ssize(m_slices) != made.parts)
    m_slices.assign(at(made.parts), *std::ranges::min_element(m_slices, {}, &CheckMark::depth));
  bool slices = true;  // every invariant that looks at slices has passed
  for (std::size_t i = 0; i < m_last.size(); ++i) {
    const Cheap cheap = invariants()[i].cheap;
    const bool whole = made.full || cheap == Cheap::All, none = cheap == Cheap::Slice && made.part < 0;
    const bool looked = whole || (cheap != Cheap::None && !none);
    if (looked && made.held & bit(i)) m_last[i] = mark;
    if (made.rest & bit(i) && whole) m_passed[i] = mark;
    slices = slices && (cheap != Cheap::Slice || made.rest & bit(i));
  }
  if (slices && made.full) std::ranges::fill(m_slices, mark);
  else if (slices && made.part >= 0) m_slices[at(made.part)] = mark;
}

/// Checks before this entry of the way leave no mark: later ones have passed all that they looked at.
int CheckMarks::oldestThatMatters(const Timeline& timeline) {
  CheckMarks seen;
  int id = timeline.currentId();
  for (; timeline.entry(id).parent >= 0; id = timeline.entry(id).parent) {
    for (const CheckMade& made : timeline.entry(id).checks) seen.add(made, {{}, 0, 0});
    if (seen.complete(timeline.entry(id).depth > timeline.firstFullCheck())) break;
  }
  return id;
}

/// True if everything has a mark. Invariants that only full checks look at need none unless `full`.
bool CheckMarks::complete(bool full) const {
  const auto marked = [](const CheckMark& one) { return one.depth >= 0; };
  if (!std::ranges::all_of(m_slices, marked)) return false;
  for (std::size_t i = 0; i < m_last.size(); ++i) {
    const Cheap cheap = invariants()[i].cheap;
    if (!marked(m_last[i]) && (full || cheap != Cheap::None)) return false;
    if (!marked(m_passed[i]) && (full || cheap == Cheap::All)) return false;
  }
  return true;
}

CheckMarks CheckMarks::along(const Timeline& timeline) {
  CheckMarks out;
  for (const int id : timeline.path(timeline.currentId(), oldestThatMatters(timeline))) {
    const Timeline::Entry& entry = timeline.entry(id);
    for (const CheckMade& made : entry.checks) out.add(made, {entry.tick, entry.depth, made.visit});
  }
  return out;
}

Tick CheckMarks::all(std::size_t invariant) const {
  if (invariants()[invariant].cheap != Cheap::Slice) return m_passed[invariant].tick;
  return std::ranges::min_element(m_slices, {}, &CheckMark::depth)->tick;
}

CheckMark CheckMarks::passed(std::size_t invariant, std::optional<LedgerId> row) const {
  const bool slices = invariants()[invariant].cheap == Cheap::Slice && row && row->value() >= 0;
  return slices ? m_slices[at(row->value() % std::ssize(m_slices))] : m_passed[invariant];
}

}  // namespace kvlab
