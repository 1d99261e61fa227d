// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/numbers/series_model.h"

#include <algorithm>
#include <cmath>

namespace kvlab {
namespace {
const QString kSteps = QStringLiteral("us.*");  // stands for every step, whatever a tick is made of

bool isStep(const QString& id) { return id.startsWith(QLatin1String("us.")) && id != QLatin1String("us.total"); }
}  // namespace

SeriesModel::SeriesModel(QObject* parent)
    : QAbstractTableModel(parent),
      m_on{kSteps, QStringLiteral("rows.length"), QStringLiteral("rows.stale"), QStringLiteral("model.kl")} {}

std::vector<SeriesModel::Line> SeriesModel::linesOf(const TickSeries& series, int cursor) {
  std::vector<Line> lines;
  for (int p = 0; p < kPanels; ++p) {
    const auto panel = static_cast<Panel>(p);
    std::vector<Line> known;
    int pen = 0;
    for (const Series& one : series.series()) {
      if (one.panel != panel) continue;
      const bool any = std::any_of(one.values.begin(), one.values.end(), [](double v) { return !std::isnan(v); });
      const double value = cursor < 0 ? std::nan("") : one.values[static_cast<std::size_t>(cursor)];
      if (any) known.push_back({one.id, one.title, formatIn(panel, value), pen});
      ++pen;
    }
    if (known.empty()) continue;
    lines.push_back({{}, title(panel), unit(panel)});
    lines.insert(lines.end(), known.begin(), known.end());
  }
  return lines;
}

bool SeriesModel::on(const Line& line) const {
  return m_on.count(line.id) > 0 || (isStep(line.id) && m_on.count(kSteps) > 0);
}

void SeriesModel::show(const TickSeries& series, int cursor) {
  std::vector<Line> lines = linesOf(series, cursor);
  const bool sameRows = std::equal(lines.begin(), lines.end(), m_lines.begin(), m_lines.end(),
                                   [](const Line& a, const Line& b) { return a.id == b.id && a.title == b.title; });
  if (sameRows) {
    m_lines = std::move(lines);
    if (!m_lines.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, Value));
    return;
  }
  beginResetModel();
  m_lines = std::move(lines);
  endResetModel();
}

std::vector<QString> SeriesModel::chosen() const {
  std::vector<QString> ids;
  for (const Line& line : m_lines)
    if (!line.id.isEmpty() && on(line)) ids.push_back(line.id);
  return ids;
}

void SeriesModel::setOn(const QString& id, bool wanted) {
  if (isStep(id) && m_on.erase(kSteps))  // from now on steps count one by one
    for (const Line& line : m_lines)
      if (isStep(line.id)) m_on.insert(line.id);
  wanted ? static_cast<void>(m_on.insert(id)) : static_cast<void>(m_on.erase(id));
  if (!m_lines.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, Value));
  emit chosenChanged();
}

void SeriesModel::setChosen(const std::set<QString>& ids) {
  m_on = ids;
  if (!m_lines.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, Value));
  emit chosenChanged();
}

int SeriesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_lines.size());
}

int SeriesModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumns); }

QVariant SeriesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Line& line = m_lines[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole: return index.column() == Name ? line.title : line.value;
    case IdRole: return line.id;
    case HeadingRole: return line.id.isEmpty();
    case OnRole: return on(line);
    case PenRole: return line.pen;
    case Qt::CheckStateRole:
      if (line.id.isEmpty() || index.column() != Name) return {};
      return static_cast<int>(on(line) ? Qt::Checked : Qt::Unchecked);
    case Qt::TextAlignmentRole:
      return int((index.column() == Value ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default: return {};
  }
}

bool SeriesModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!index.isValid() || role != Qt::CheckStateRole || index.column() != Name) return false;
  const QString id = m_lines[static_cast<std::size_t>(index.row())].id;
  if (id.isEmpty()) return false;
  setOn(id, value.toInt() == Qt::Checked);
  return true;
}

Qt::ItemFlags SeriesModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  if (m_lines[static_cast<std::size_t>(index.row())].id.isEmpty()) return Qt::ItemIsEnabled;
  const Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
  return index.column() == Name ? flags | Qt::ItemIsUserCheckable : flags;
}

QVariant SeriesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == Name ? tr("Series") : tr("Value");
}

}  // namespace kvlab
