// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/invariants/invariant_model.h"

#include <algorithm>

#include "widgets/base/format.h"
#include "widgets/table/data_table.h"

namespace kvlab {
namespace {
InvariantLine* find(std::vector<InvariantLine>& lines, const std::string& id) {
  const auto at =
      std::find_if(lines.begin(), lines.end(), [&](const InvariantLine& line) { return line.state.id == id; });
  return at == lines.end() ? nullptr : &*at;
}

Tone toneOf(bool good, int column) {
  switch (column) {
    case InvariantModel::Lamp: return good ? Tone::Ok : Tone::Error;
    case InvariantModel::FirstFailure: return good ? Tone::Muted : Tone::Error;
    case InvariantModel::LastPass: return Tone::Muted;
    case InvariantModel::Detail: return good ? Tone::Faint : Tone::Normal;
    default: return Tone::Normal;
  }
}

QString tickText(Tick tick) {
  return tick.value() < 0 ? QStringLiteral("never") : QStringLiteral("tick %1").arg(tick.value());
}
}  // namespace

void InvariantModel::replace(std::vector<InvariantLine> lines) {
  std::stable_sort(lines.begin(), lines.end(),
                   [](const InvariantLine& a, const InvariantLine& b) { return a.state.ok < b.state.ok; });
  const bool sameRows = std::equal(lines.begin(), lines.end(), m_lines.begin(), m_lines.end(),
                                   [](const auto& a, const auto& b) { return a.state.id == b.state.id; });
  if (sameRows) {  // keeps the selection
    m_lines = std::move(lines);
    if (!m_lines.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
    return;
  }
  beginResetModel();
  m_lines = std::move(lines);
  endResetModel();
}

void InvariantModel::show(const Snapshot& snapshot) {
  std::vector<InvariantLine> lines;
  for (const InvariantState& state : snapshot.invariants) {
    InvariantLine line{state};
    const InvariantLine* before = m_tick == snapshot.tick ? find(m_lines, state.id) : nullptr;
    if (before && before->full) line = *before;  // a full check of this tick says more
    if (snapshot.report)
      for (const Violation& violation : snapshot.report->violations)
        if (violation.invariant == state.id && !line.violation) line.violation = violation;
    lines.push_back(std::move(line));
  }
  m_tick = snapshot.tick;
  replace(std::move(lines));
}

void InvariantModel::showFull(const nlohmann::json& answer, Tick tick) {
  std::vector<InvariantLine> lines = m_lines;
  for (const nlohmann::json& entry : answer) {
    InvariantLine* line = find(lines, entry.value("id", ""));
    if (!line) {
      line = &lines.emplace_back();
      line->state.id = entry.value("id", "");
      line->state.title = entry.value("title", "");
    }
    line->state.ok = entry.value("ok", true);
    line->state.detail = entry.value("detail", "");
    line->full = true;
    if (line->state.ok) line->state.lastPass = tick;
    else if (!line->state.firstFailure) line->state.firstFailure = tick;
  }
  m_fullAt = tick;
  m_tick = tick;
  replace(std::move(lines));
}

int InvariantModel::failures() const {
  return static_cast<int>(
      std::count_if(m_lines.begin(), m_lines.end(), [](const InvariantLine& line) { return !line.state.ok; }));
}

bool InvariantModel::anyFailed() const {
  return std::any_of(m_lines.begin(), m_lines.end(),
                     [](const InvariantLine& line) { return line.state.firstFailure.has_value(); });
}

QString InvariantModel::summary() const {
  const int bad = failures();
  const int all = rowCount();
  QString text = tr("%1 hold").arg(counted(all, tr("invariant"), tr("invariants")));
  if (all == 1) text = tr("1 invariant holds");
  if (bad) {
    std::optional<Tick> first;
    for (const InvariantLine& line : m_lines)
      if (!line.state.ok && line.state.firstFailure && (!first || *line.state.firstFailure < *first))
        first = line.state.firstFailure;
    text = bad == 1 ? tr("1 of %1 is broken").arg(counted(all, tr("invariant"), tr("invariants")))
                    : tr("%1 of %2 are broken").arg(bad).arg(counted(all, tr("invariant"), tr("invariants")));
    if (first) text += tr(", first at tick %1").arg(first->value());
  }
  if (m_fullAt) text += tr(" · full check at tick %1").arg(m_fullAt->value());
  return text;
}

int InvariantModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_lines.size());
}

int InvariantModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumns); }

QVariant InvariantModel::text(const InvariantLine& line, int column) const {
  switch (column) {
    case Lamp: return line.state.ok ? tr("holds") : tr("broken");
    case Title: return QString::fromStdString(line.state.title);
    case LastPass: return tickText(line.state.lastPass);
    case FirstFailure: return line.state.firstFailure ? tickText(*line.state.firstFailure) : QString();
    case Detail:
      return QString::fromStdString(line.state.detail.empty() && line.violation ? line.violation->detail
                                                                                : line.state.detail);
    default: return {};
  }
}

QVariant InvariantModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const InvariantLine& line = m_lines[static_cast<std::size_t>(index.row())];
  if (role == Qt::DisplayRole || role == Qt::AccessibleTextRole) return text(line, index.column());
  if (role == kBadRole) return !line.state.ok;
  if (role == kToneRole) return static_cast<int>(toneOf(line.state.ok, index.column()));
  if (role == Qt::ToolTipRole)
    return QStringLiteral("%1 (%2)\n%3")
        .arg(QString::fromStdString(line.state.title), QString::fromStdString(line.state.id),
             text(line, Detail).toString())
        .trimmed();
  return {};
}

QVariant InvariantModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  const QStringList titles{tr("State"), tr("Invariant"), tr("Last pass"), tr("First failure"), tr("Detail")};
  if (role == Qt::DisplayRole) return titles.value(section);
  if (role == Qt::ToolTipRole)
    return QStringList{tr("Result of the newest check"), tr("What must always hold"),
                       tr("Last tick after which it held"), tr("First tick after which it did not hold"),
                       tr("What is wrong, and where")}
        .value(section);
  if (role == Qt::TextAlignmentRole) return int(Qt::AlignLeft | Qt::AlignVCenter);
  return {};
}

}  // namespace kvlab
