// SPDX-License-Identifier: Apache-2.0
#include "core/session/alignment.h"

#include <algorithm>

#include "core/check/invariant.h"

namespace kvlab {
namespace {

/// True if a check that finds nothing clears the invariant of this name.
bool clears(std::string_view invariant, bool full) {
  const std::span<const Invariant> all = invariants();
  const auto one = std::ranges::find(all, invariant, &Invariant::id);
  return full || one == all.end() || one->cheap == Cheap::All;
}

/// A row keeps its ledger id when edits move it.
bool same(const Violation& a, const Violation& b) {
  return a.invariant == b.invariant && a.layer == b.layer && a.ledger == b.ledger && (a.ledger || a.index == b.index);
}

bool names(const std::vector<Violation>& violations, std::string_view invariant) {
  return std::any_of(violations.begin(), violations.end(),
                     [&](const Violation& v) { return v.invariant == invariant; });
}

/// "step (tick 7: replace_pair, add)": what made an entry, of the command that it belongs to.
std::string eventOf(const Timeline::Entry& made, const std::string& command) {
  std::string edits;
  if (made.report)
    for (const Action& action : made.report->actions) {
      const std::string edit = toJson(action).value("action", "");
      if (edits.find(edit) == std::string::npos) edits += (edits.empty() ? ": " : ", ") + edit;
    }
  return (command.empty() ? "commit" : command) + " (tick " + std::to_string(made.tick.value()) + edits + ")";
}

/// The commit of this number on the way to the present state. The later commits of a command carry no name.
std::string commitText(const Timeline& timeline, std::int32_t number) {
  int id = timeline.currentId();
  while (timeline.entry(id).depth > number) id = timeline.entry(id).parent;
  int named = id;
  while (timeline.entry(named).verb.empty()) named = timeline.entry(named).parent;
  return eventOf(timeline.entry(id), timeline.entry(named).verb);
}

}  // namespace

/// Who wrote the row last; or that nobody has since it was in order, and then it was no event.
std::string AlignmentLog::blame(const Violation& v, const CacheState& state, const Timeline& timeline) const {
  std::int32_t passed = -1;
  for (std::size_t i = 0; i < m_passed.size(); ++i)
    if (invariants()[i].id == v.invariant) passed = std::min(m_passed[i], timeline.depth());
  const bool row = v.layer && v.ledger && at(*v.layer) < state.groupOf.size();
  std::int32_t last = timeline.depth();
  if (row) {
    const Column<std::int32_t>& writers = state.group(*v.layer).writers;
    if (at(v.ledger->value()) >= writers.size()) return "no event is known to have written the row";
    last = writers[at(v.ledger->value())];
  }
  const std::string what = row ? " wrote the row last" : " came last";
  if (last > passed) return commitText(timeline, last) + what;
  return std::string(row ? "no event has written the row" : "no event has come") + " since the check after " +
      commitText(timeline, passed) + ", which found nothing" + (row ? "; " + commitText(timeline, last) + what : "");
}

void AlignmentLog::take(const std::vector<Violation>& violations, bool full, const CacheState& state,
                        const Timeline& timeline) {
  m_passed.resize(invariants().size(), -1);
  std::vector<Finding> found;
  for (const Violation& v : violations) {
    const auto known = std::find_if(m_known.findings.begin(), m_known.findings.end(),
                                    [&](const Finding& one) { return same(one.violation, v); });
    if (known == m_known.findings.end()) found.push_back({v, state.tick, blame(v, state, timeline)});
    else found.push_back({v, known->since, known->blame});
  }
  for (const Finding& known : m_known.findings)
    if (!clears(known.violation.invariant, full) &&
        std::ranges::none_of(violations, [&](const Violation& v) { return same(known.violation, v); }))
      found.push_back(known);
  m_known.findings = std::move(found);
  m_known.checked = state.tick;
  if (full) m_known.full = state.tick;
  for (std::size_t i = 0; i < m_passed.size(); ++i)
    if (clears(invariants()[i].id, full) && !names(violations, invariants()[i].id)) m_passed[i] = timeline.depth();
  m_entry = timeline.currentId();
}

Alignment AlignmentLog::tell(const Timeline& timeline) const {
  Alignment out = m_known;
  const Timeline::Entry& now = timeline.current();
  if (out.checked.value() >= 0 && m_entry != timeline.currentId()) out.unchecked = eventOf(now, now.verb);
  return out;
}

}  // namespace kvlab
