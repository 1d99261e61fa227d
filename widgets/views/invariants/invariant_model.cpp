// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/invariants/invariant_model.h"

#include <algorithm>

#include "core/api/read_json.h"
#include "widgets/base/alignment_lamp.h"
#include "widgets/base/format.h"

namespace kvlab {
namespace {
InvariantLine* lineOf(std::vector<InvariantLine>& lines, const std::string& id) {
  const auto at = std::ranges::find(lines, id, [](const InvariantLine& line) { return line.state.id; });
  return at == lines.end() ? nullptr : &*at;
}

QString tickText(Tick tick) {
  return tick.value() < 0 ? QStringLiteral("never") : QStringLiteral("tick %1").arg(tick.value());
}
/// A check that looks at a part of it may pass in the tick in which another one fails.
QString lastPassText(const InvariantState& state) {
  const bool both = state.firstFailure && state.lastPass >= *state.firstFailure;
  return both ? QStringLiteral("%1, in part").arg(tickText(state.lastPass)) : tickText(state.lastPass);
}
}  // namespace

QString passedText(const InvariantState& state) {
  if (state.since) return QStringLiteral("It broke %1.").arg(QString::fromStdString(intervalText(*state.since)));
  if (state.allPassed.value() < 0) return QStringLiteral("No check has looked at all of it yet.");
  return QStringLiteral("All of it has passed since tick %1.").arg(state.allPassed.value());
}

QString detailText(const InvariantLine& line) {
  return QString::fromStdString(line.state.detail.empty() && line.violation ? line.violation->detail
                                                                            : line.state.detail);
}

InvariantModel::InvariantModel(QObject* parent) : LineModel(parent) {
  using Line = const InvariantLine&;
  const auto tone = [](Tone good, Tone bad) { return [=](Line line) { return line.state.ok ? good : bad; }; };
  add("state", tr("State"), tr("Result of the newest check"), "X not checked",
      [](Line line) { return line.state.unchecked() ? tr("not checked")
                          : line.state.ok           ? tr("holds")
                                                    : tr("broken"); })
      .words()
      .toned([](Line line) { return line.state.unchecked() ? Tone::Faint
                                 : line.state.ok           ? Tone::Ok
                                                           : Tone::Error; });
  add("invariant", tr("Invariant"), tr("What must always hold"), QString(20, 'x'), [](Line line) {
    return QString::fromStdString(line.state.title);
  }).words();
  add("last_pass", tr("Last pass"), tr("Last tick after which a check looked at the invariant and found nothing"),
      {"tick 100", 1}, [](Line line) { return lastPassText(line.state); })
      .words()
      .in(Tone::Muted);
  add("first_failure", tr("First failure"), tr("First tick after which the invariant was violated"), "tick 100",
      [](Line line) { return line.state.firstFailure ? tickText(*line.state.firstFailure) : QString(); })
      .words()
      .toned(tone(Tone::Muted, Tone::Error));
  add("detail", tr("Detail"), tr("Details of the violation"), "x", detailText)
      .words()
      .toned(tone(Tone::Faint, Tone::Normal));
  withLines(kBadRole, [](Line line) { return !line.state.ok; });
  withLines(Qt::ToolTipRole, [](Line line) {
    return QStringLiteral("%1 (%2)\n%3")
        .arg(QString::fromStdString(line.state.title), QString::fromStdString(line.state.id), detailText(line))
        .trimmed();
  });
}

/// Broken invariants first. If the order does not change, the selection is kept.
void InvariantModel::order(std::vector<InvariantLine> given) {
  std::stable_sort(given.begin(), given.end(),
                   [](const InvariantLine& a, const InvariantLine& b) { return a.state.ok < b.state.ok; });
  const bool same = std::equal(given.begin(), given.end(), lines().begin(), lines().end(),
                               [](const auto& a, const auto& b) { return a.state.id == b.state.id; });
  replace(std::move(given), same);
}

void InvariantModel::show(const Snapshot& snapshot) {
  std::vector<InvariantLine> lines;
  for (const InvariantState& state : snapshot.invariants) {
    InvariantLine line{state};
    const InvariantLine* before = m_tick == snapshot.tick ? lineOf(m_lines, state.id) : nullptr;
    if (before && before->full) line = *before;  // a full check of this tick has more details
    if (snapshot.report)
      for (const Violation& violation : snapshot.report->violations)
        if (violation.invariant == state.id && !line.violation) line.violation = violation;
    lines.push_back(std::move(line));
  }
  m_tick = snapshot.tick;
  order(std::move(lines));
}

void InvariantModel::showFull(const nlohmann::json& answer, Tick tick) {
  std::vector<InvariantLine> lines = m_lines;
  for (const nlohmann::json& entry : answer) {
    const std::string id = memberOr(entry, "id", std::string());
    if (id.empty()) continue;
    InvariantLine* line = lineOf(lines, id);
    if (!line) {
      line = &lines.emplace_back();
      line->state.id = id;
      line->state.title = memberOr(entry, "title", std::string());
    }
    line->state.ok = memberOr(entry, "ok", true);
    line->state.detail = memberOr(entry, "detail", std::string());
    if (line->state.ok) line->state.since.reset();
    line->full = true;
    if (line->state.ok) line->state.lastPass = line->state.allPassed = tick;
    else if (!line->state.firstFailure) line->state.firstFailure = tick;
  }
  m_fullAt = tick;
  m_tick = tick;
  order(std::move(lines));
}

int InvariantModel::failures() const {
  return static_cast<int>(std::ranges::count(m_lines, false, [](const InvariantLine& line) { return line.state.ok; }));
}

bool InvariantModel::anyFailed() const {
  return std::ranges::any_of(m_lines, [](const InvariantLine& line) { return line.state.firstFailure.has_value(); });
}

QString InvariantModel::summary() const {
  const int bad = failures();
  const auto unknown =
      static_cast<int>(std::ranges::count_if(m_lines, &InvariantState::unchecked, &InvariantLine::state));
  QString text = invariantsText(rowCount(), unknown, bad);
  std::optional<Tick> first;
  for (const InvariantLine& line : m_lines)
    if (!line.state.ok && line.state.firstFailure && (!first || *line.state.firstFailure < *first))
      first = line.state.firstFailure;
  if (bad && first) text += tr(", first at tick %1").arg(first->value());
  if (m_fullAt) text += tr(" · full check at tick %1").arg(m_fullAt->value());
  return text;
}

}  // namespace kvlab
