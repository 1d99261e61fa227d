// SPDX-License-Identifier: Apache-2.0
#include "core/session/alignment.h"

#include <algorithm>
#include <limits>

#include "core/parts/kinds.h"

namespace kvlab {
namespace {

/// True if a check clears what it has not named of an invariant: it has looked at the place, and has not stopped to
/// name what it found.
bool clears(std::string_view invariant, bool full, const std::vector<Violation>& found) {
  const std::span<const Invariant> all = invariants();
  const auto one = std::ranges::find(all, invariant, &Invariant::id);
  return (full || one == all.end() || one->cheap == Cheap::All) &&
      std::ranges::count(found, invariant, &Violation::invariant) < Findings::kKept;
}

/// A row keeps its ledger id when edits move it.
bool same(const Violation& a, const Violation& b) {
  return a.invariant == b.invariant && a.layer == b.layer && a.ledger == b.ledger && (a.ledger || a.index == b.index);
}

std::size_t numberOf(std::string_view invariant) {
  return at(std::ranges::find(invariants(), invariant, &Invariant::id) - invariants().begin());
}

bool contains(const std::vector<std::uint64_t>& tags, LedgerId id) {
  return std::ranges::find(tags, static_cast<std::uint64_t>(id.value())) != tags.end();
}

/// A row that a check of stored rows has found damaged: full checks read all rows.
Harm damageOf(const Violation& v) {
  const bool ofRows =
      v.ledger && numberOf(v.invariant) < invariants().size() && invariants()[numberOf(v.invariant)].of == Of::Rows;
  return ofRows ? Harm{.row = v.ledger, .read = true, .old = true} : Harm();
}

/// The harmed rows, from the first to the last id: one, or where further ones are not named all of the passes, or any.
std::pair<LedgerId, LedgerId> rowsOf(const Violation& v, const Harm& harm, std::span<const PassDeed> deeds) {
  LedgerId low = harm.row.value_or(v.ledger.value_or(LedgerId(0))), high = low;
  if (!harm.more) return {low, high};
  if (deeds.empty()) return {LedgerId(0), LedgerId(std::numeric_limits<std::int32_t>::max())};
  for (const PassDeed& deed : deeds)
    for (const std::uint64_t tag : deed.tags) {
      low = std::min(low, LedgerId(static_cast<std::int32_t>(tag)));
      high = std::max(high, LedgerId(static_cast<std::int32_t>(tag)));
    }
  return {low, high};
}

/// The first entry that may have done harm to a row.
int harmedAt(const Harm& harm, const CacheState& state, const Timeline& timeline) {
  int id = timeline.currentId();
  if (harm.old && harm.more) return 0;
  if (!harm.old || !state.ledger.contains(*harm.row)) return id;
  const Tick born = state.ledger[*harm.row].born;
  while (timeline.entry(id).parent >= 0 && timeline.entry(timeline.entry(id).parent).tick >= born)
    id = timeline.entry(id).parent;
  return id;
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
  for (const Invariant& one : invariants()) m_lines.push_back({one.id, one.title});
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
                             const Timeline& timeline, const Passes& passes) {
  computed(passes.deeds, timeline.currentId());
  std::vector<Finding> found;
  for (std::size_t i = 0; i < violations.size(); ++i) {
    Violation& v = violations[i];
    const auto known = std::find_if(m_known.findings.begin(), m_known.findings.end(),
                                    [&](const Finding& one) { return same(one.violation, v); });
    const bool anew = known == m_known.findings.end();
    v.since = anew ? since(v, state) : known->since();
    found.push_back({v, anew ? blame(v, state, timeline) : known->blame});
    const Harm harm = i < passes.harms.size() && passes.harms[i].any() ? passes.harms[i] : damageOf(v);
    if (harm.any() && !passes.again && !passes.unread) note(found.back(), harm, state, timeline, passes.deeds);
  }
  const auto unnamed = [&](const Finding& one) {
    return std::ranges::none_of(violations, [&](const Violation& v) { return same(one.violation, v); });
  };
  const auto cleared = [&](const Finding& one) {
    return unnamed(one) && clears(one.violation.invariant, made.full, violations);
  };
  for (const Finding& known : m_known.findings)
    if (unnamed(known) && !harmOf(known) && !cleared(known)) found.push_back(known);
  for (Known& known : m_harm) {
    if (passes.again || !stands(known, state, timeline)) continue;
    if (known.harm.read && cleared(known.finding)) {
      readRight(known, timeline);
      continue;
    }
    made.held &= ~(std::uint32_t{1} << numberOf(known.finding.violation.invariant));
    if (unnamed(known.finding)) found.push_back(known.finding);
  }
  m_known.findings = std::move(found);
  m_known.checked = state.tick;
  if (made.full) m_known.full = state.tick;
  made.visit = static_cast<std::int32_t>(m_left.size());
  m_marks.add(made, {state.tick, timeline.depth(), made.visit});
  m_entry = timeline.currentId();
  tellLines(state.tick);
  return made;
}

const AlignmentLog::Known* AlignmentLog::harmOf(const Finding& finding) const {
  const auto known =
      std::ranges::find_if(m_harm, [&](const Known& one) { return same(one.finding.violation, finding.violation); });
  return known == m_harm.end() ? nullptr : &*known;
}

bool AlignmentLog::anyToLookAt() const {
  return std::ranges::any_of(m_known.findings, [this](const Finding& one) {
    const Known* known = harmOf(one);
    return !known || known->harm.read;
  });
}

std::vector<LedgerId> AlignmentLog::doubted() const {
  std::vector<LedgerId> out;
  for (const Finding& one : m_known.findings)
    if (const Known* known = harmOf(one); known && known->harm.read && one.violation.invariant == "exact_rows")
      out.push_back(known->first);
  return out;
}

/// Notes harm that a check has named. Some are kept apart; further rows join the last one.
void AlignmentLog::note(const Finding& finding, const Harm& harm, const CacheState& state, const Timeline& timeline,
                        std::span<const PassDeed> deeds) {
  constexpr std::ptrdiff_t kApart = 64;  // of one invariant
  const Violation& v = finding.violation;
  const auto [low, high] = rowsOf(v, harm, deeds);
  const auto ours = [&](const Known& one) { return one.finding.violation.invariant == v.invariant; };
  auto known = std::ranges::find_if(
      m_harm, [&](const Known& one) { return same(one.finding.violation, v) && stands(one, state, timeline); });
  if (known != m_harm.end()) known->found = timeline.currentId();
  if (known != m_harm.end() && !harm.more) return;
  if (known == m_harm.end() && std::ranges::count_if(m_harm, ours) < kApart) {
    const int entry = harmedAt(harm, state, timeline);
    m_harm.push_back({finding, harm, entry, timeline.currentId(), low, high, harm.logits ? state.logits : nullptr});
    m_harm.back().harm.read = harm.read && !harm.more;
    return;
  }
  if (harm.read && !harm.more) return;
  if (known == m_harm.end()) known = std::find_if(m_harm.rbegin(), m_harm.rend(), ours).base() - 1;
  known->harm = {.row = low, .more = true};
  known->first = std::min(known->first, low);
  known->last = std::max(known->last, high);
  known->logits = nullptr;
  known->again.clear();
}

/// A full check has found the row right in the present state: the harm came later, or is over.
void AlignmentLog::readRight(Known& known, const Timeline& timeline) {
  const int here = timeline.currentId();
  int later = known.found;
  if (later == here || timeline.parting(here, later) != here) return known.again.push_back(here);
  while (timeline.entry(later).parent != here) later = timeline.entry(later).parent;
  known.entry = later;
}

/// True if the present state has the harm: it goes on from that entry, on the way nothing has computed the rows again
/// or found them right, and one of them is still there.
bool AlignmentLog::stands(const Known& known, const CacheState& state, const Timeline& timeline) {
  const auto onWay = [&](int entry) { return entry < timeline.size() && timeline.leads(entry, timeline.currentId()); };
  if (!onWay(known.entry) || std::ranges::any_of(known.again, onWay)) return false;
  if (known.logits) return state.logits == known.logits && !state.logitsStale;
  const Violation& v = known.finding.violation;
  return std::ranges::any_of(state.layers(), [&](CacheLayer layer) {
    if (v.layer && layer < *v.layer && !known.harm.more) return false;
    const ResidencyView& rows = state.group(layer).stored();
    const std::span<const LedgerId> ledger =
        rows.ledger.span().subspan(std::min(rows.ledger.size(), static_cast<std::size_t>(rows.first)));
    return std::ranges::any_of(ledger, [&](LedgerId id) { return known.first <= id && id <= known.last; });
  });
}

/// The passes of a commit have computed the rows of earlier ones again.
void AlignmentLog::computed(std::span<const PassDeed> deeds, int entry) {
  for (Known& known : m_harm) {
    const Violation& v = known.finding.violation;
    if (known.entry == entry || known.logits || known.harm.more) continue;
    const bool done = std::ranges::any_of(deeds, [&](const PassDeed& deed) {
      return (!v.layer || *v.layer == deed.layer) && contains(deed.tags, known.first);
    });
    if (done && (known.again.empty() || known.again.back() != entry)) known.again.push_back(entry);
  }
}

void AlignmentLog::rebuilt(const Timeline& timeline) {
  for (Known& known : m_harm) known.again.push_back(timeline.currentId());
}

void AlignmentLog::follow(const Timeline& from, int tip, const Timeline& to) {
  m_entry = m_entry == from.currentId() ? to.currentId() : -1;
  if (m_harm.empty()) return;
  const std::vector<int> way = from.path(tip);
  const auto there = [&](int entry) {
    const auto depth = entry < from.size() ? at(from.entry(entry).depth) : way.size();
    return depth < way.size() && way[depth] == entry ? to.along(from.entry(entry).depth) : -1;
  };
  for (Known& known : m_harm) {
    known.entry = there(known.entry);
    known.found = std::max(known.entry, there(known.found));
    std::ranges::transform(known.again, known.again.begin(), there);
    std::erase(known.again, -1);
  }
  std::erase_if(m_harm, [](const Known& known) { return known.entry < 0; });
}

void AlignmentLog::cut(int entry) {
  for (Known& known : m_harm) {
    known.found = std::min(known.found, entry);
    std::erase_if(known.again, [entry](int one) { return one > entry; });
  }
  std::erase_if(m_harm, [entry](const Known& known) { return known.entry > entry; });
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

void AlignmentLog::travelled(Tick from, const Timeline& timeline, const CacheState& state) {
  m_left.push_back(from);
  m_marks = CheckMarks::along(timeline);
  // Rows to be read again stay until the check of this state: the same bug may have harmed others.
  std::erase_if(m_known.findings, [this](const Finding& one) {
    const Known* known = harmOf(one);
    return known && !known->harm.read;
  });
  const auto told = [this](const Known& known) {
    return std::ranges::any_of(m_known.findings,
                               [&](const Finding& one) { return same(one.violation, known.finding.violation); });
  };
  for (const Known& known : m_harm)
    if (stands(known, state, timeline) && !told(known)) m_known.findings.push_back(known.finding);
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
