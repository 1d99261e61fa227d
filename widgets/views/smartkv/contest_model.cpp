// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/smartkv/contest_model.h"

#include <QStringList>
#include <algorithm>
#include <cmath>

#include "widgets/base/inspector_view.h"
#include "widgets/base/layer_text.h"
#include "widgets/table/data_table.h"

namespace kvlab {
namespace {
QString figure(float value) {
  return std::isnan(value) ? QStringLiteral("–") : QString::number(static_cast<double>(value), 'g', 3);
}
}  // namespace

void ContestModel::show(SnapshotPtr snapshot, const std::vector<BandRows>& layers) {
  beginResetModel();
  m_snapshot = std::move(snapshot);
  m_lines.clear();
  for (const BandRows& layer : layers)
    for (const Contest& contest : layer.contests) {
      ContestLine line{layer.layer, contest, contest.challengerScore - contest.loserScore};
      if (!line.won()) line.margin = contest.challengerScore - layer.lowest;
      m_lines.push_back(line);
    }
  endResetModel();
}

int ContestModel::rowOf(Layer layer) const {
  const auto found = std::find_if(m_lines.begin(), m_lines.end(),
                                  [&](const ContestLine& line) { return line.layer == layer.value(); });
  return found == m_lines.end() ? -1 : static_cast<int>(found - m_lines.begin());
}

int ContestModel::won() const {
  return static_cast<int>(
      std::count_if(m_lines.begin(), m_lines.end(), [](const ContestLine& line) { return line.won(); }));
}

int ContestModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_lines.size());
}
int ContestModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumns); }

QString ContestModel::text(const ContestLine& line, int column) const {
  const Contest& c = line.contest;
  switch (column) {
    case LayerNumber: return layerText(*m_snapshot, line.layer);
    case Challenger: return tokenText(*m_snapshot, c.challenger);
    case ItsScore: return figure(c.challengerScore);
    case Outcome: return line.won() ? tr("stays, out goes") : tr("lost, leaves");
    case Leaves: return line.won() ? tokenText(*m_snapshot, c.loser) : QString();
    case LoserScore: return line.won() ? figure(c.loserScore) : QString();
    default: return (line.margin > 0 ? QStringLiteral("+") : QString()) + figure(line.margin);
  }
}

QVariant ContestModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const ContestLine& line = m_lines[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  const bool number = column == LayerNumber || column == ItsScore || column == LoserScore || column == Margin;
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: return text(line, column);
    case Qt::ToolTipRole:
      if (column == Challenger) return tr("ledger %1").arg(line.contest.challenger.value());
      if (column == Leaves && line.won()) return tr("ledger %1").arg(line.contest.loser.value());
      return {};
    case Qt::TextAlignmentRole: return int((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case kMonoRole: return column != Outcome;
    case kToneRole:
      return static_cast<int>(column == Outcome                              ? (line.won() ? Tone::Ok : Tone::Warning)
                                  : column == Challenger || column == Leaves ? Tone::Normal
                                                                             : Tone::Muted);
    default: return {};
  }
}

QVariant ContestModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::DisplayRole)
    return QStringList{tr("Layer"), tr("Challenger"), tr("Score"), tr("Outcome"), tr("Out"), tr("Score"), tr("By")}
        .value(section);
  if (role == Qt::ToolTipRole)
    return QStringList{tr("The layer"),
                       tr("The row that left the window"),
                       tr("The challenger's score"),
                       tr("Whether the challenger took a place in the budget"),
                       tr("The row that left the layer for it"),
                       tr("Its score"),
                       tr("How far the challenger was above the row it drove out, or below the lowest of the budget")}
        .value(section);
  const bool number = section == LayerNumber || section == ItsScore || section == LoserScore || section == Margin;
  if (role == Qt::TextAlignmentRole) return int((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

}  // namespace kvlab
