// SPDX-License-Identifier: Apache-2.0
#include "core/session/alignment.h"

#include <algorithm>

#include "core/parts/kinds.h"

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

std::size_t numberOf(std::string_view invariant) {
  return at(std::ranges::find(invariants(), invariant, &Invariant::id) - invariants().begin());
}

/// "step (tick 7: replace_pair, add)": the command that an entry belongs to, with the edits that made the entry.
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
  return eventOf(timeline.entry(id), timeline.entry(timeline.commandOf(id)).verb);
}

}  // namespace

AlignmentLog::AlignmentLog() {
  for (const Invariant& one : invariants()) m_lines.push_back({std::string(one.id), std::string(one.title)});
}

CheckMark AlignmentLog::passed(const Violation& v) const { return m_marks.passed(numberOf(v.invariant), v.ledger); }

std::optional<Tick> AlignmentLog::verified(const LedgerRow& row, LedgerId id) const {
  const Tick tick = m_marks.passed(numberOf("row_checksums"), id).tick;
  if (tick.value() < 0 || tick < row.born) return std::nullopt;
  return tick;
}

DamageSince AlignmentLog::since(const Violation& v, const CacheState& state) const {
  const CheckMark mark = passed(v);
  DamageSince out{.found = state.tick};
  if (mark.tick.value() >= 0) out.verified = mark.tick;
  if (v.ledger && state.ledger.contains(*v.ledger) && state.ledger[*v.ledger].born > mark.tick) {
    out.verified.reset();
    out.computed = state.ledger[*v.ledger].born;
  }
  for (auto visit = at(mark.visit); visit < m_left.size(); ++visit)
    if (m_left[visit] > std::max(out.found, out.reached.value_or(out.found))) out.reached = m_left[visit];
  return out;
}

/// Names the command that wrote the row, or that came, since the check that passed: more is not known.
std::string AlignmentLog::blame(const Violation& v, const CacheState& state, const Timeline& timeline) const {
  const std::int32_t last = timeline.depth(), passed = std::clamp(this->passed(v).depth, 0, last);
  const bool back = v.since && v.since->reached;
  const std::string came = last == passed
      ? (back ? "the session came back from tick " + std::to_string(v.since->reached->value())
              : "no command came in between")
      : last == passed + 1 ? commitText(timeline, last) + " came in between"
                           : std::to_string(last - passed) + " commits came in between";
  if (v.layer && v.ledger && at(*v.layer) < state.groupOf.size()) {
    const Column<std::int32_t>& writers = state.group(*v.layer).writers;
    const auto row = at(v.ledger->value());
    const bool wrote = row < writers.size() && writers[row] > passed;
    return wrote ? commitText(timeline, writers[row]) + " wrote the row in between"
                 : "no command wrote the row in between" + (last == passed && !back ? "" : "; " + came);
  }
  return came;
}

CheckMade AlignmentLog::take(std::vector<Violation>& violations, CheckMade made, const CacheState& state,
                             const Timeline& timeline) {
  std::vector<Finding> found;
  for (Violation& v : violations) {
    const auto known = std::find_if(m_known.findings.begin(), m_known.findings.end(),
                                    [&](const Finding& one) { return same(one.violation, v); });
    const bool anew = known == m_known.findings.end();
    v.since = anew ? since(v, state) : known->since();
    found.push_back({v, anew ? blame(v, state, timeline) : known->blame});
  }
  for (const Finding& known : m_known.findings)
    if (!clears(known.violation.invariant, made.full) &&
        std::ranges::none_of(violations, [&](const Violation& v) { return same(known.violation, v); }))
      found.push_back(known);
  m_known.findings = std::move(found);
  m_known.checked = state.tick;
  if (made.full) m_known.full = state.tick;
  made.visit = static_cast<std::int32_t>(m_left.size());
  m_marks.add(made, {state.tick, timeline.depth(), made.visit});
  m_entry = timeline.currentId();
  tellLines(state.tick);
  return made;
}

void AlignmentLog::tellLines(Tick tick) {
  for (std::size_t i = 0; i < m_lines.size(); ++i) {
    InvariantState& line = m_lines[i];
    const auto found =
        std::ranges::find(m_known.findings, line.id, [](const Finding& f) { return f.violation.invariant; });
    line.ok = found == m_known.findings.end();
    line.detail = line.ok ? "" : found->violation.detail;
    line.since = line.ok ? std::nullopt : found->violation.since;
    line.lastPass = m_marks.last(i).tick;
    line.allPassed = m_marks.all(i);
    if (!line.ok && !line.firstFailure) line.firstFailure = tick;
  }
}

void AlignmentLog::travelled(Tick from, const Timeline& timeline) {
  m_left.push_back(from);
  m_marks = CheckMarks::along(timeline);
  const Tick here = timeline.current().tick;
  for (InvariantState& line : m_lines)
    if (line.firstFailure && *line.firstFailure > here) line.firstFailure.reset();
  tellLines(here);
}

Alignment AlignmentLog::tell(const Timeline& timeline) const {
  Alignment out = m_known;
  const Timeline::Entry& now = timeline.current();
  if (out.checked.value() >= 0 && m_entry != timeline.currentId()) out.unchecked = eventOf(now, now.verb);
  return out;
}

}  // namespace kvlab
