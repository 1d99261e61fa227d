// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/log/log_model.h"

#include <algorithm>

#include "widgets/table/data_table.h"

namespace kvlab {

namespace {
Tone toneOf(int level, int column) {
  if (level >= 4) return Tone::Error;
  if (level == 3) return Tone::Warning;
  if (column == LogModel::Time || level <= 1) return Tone::Faint;
  return column == LogModel::Level ? Tone::Muted : Tone::Normal;
}
}  // namespace

QString logLevelName(int level) {
  static const QStringList kNames{QStringLiteral("trace"),   QStringLiteral("debug"), QStringLiteral("info"),
                                  QStringLiteral("warning"), QStringLiteral("error"), QStringLiteral("critical")};
  return kNames[std::clamp(level, 0, kLogLevels - 1)];
}

void LogModel::append(LogLine line) {
  if (rowCount() >= kLimit) {
    const int gone = kLimit / 10;
    beginRemoveRows({}, 0, gone - 1);
    m_lines.erase(m_lines.begin(), m_lines.begin() + gone);
    m_dropped += gone;
    endRemoveRows();
  }
  beginInsertRows({}, rowCount(), rowCount());
  m_lines.push_back(std::move(line));
  endInsertRows();
}

void LogModel::clear() {
  beginResetModel();
  m_lines.clear();
  m_dropped = 0;
  endResetModel();
}

int LogModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_lines.size());
}

int LogModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : int(kColumns); }

QVariant LogModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const LogLine& shown = line(index.row());
  if (role == LevelRole) return shown.level;
  if (role == kMonoRole) return index.column() != Level;
  if (role == kBadRole) return shown.level >= 4;
  if (role == kToneRole) return static_cast<int>(toneOf(shown.level, index.column()));
  if (role == Qt::ToolTipRole && index.column() == Text) return shown.text;
  if (role != Qt::DisplayRole && role != Qt::AccessibleTextRole) return {};
  switch (index.column()) {
    case Time: return shown.time.toString(QStringLiteral("HH:mm:ss.zzz"));
    case Level: return logLevelName(shown.level);
    case Text: return shown.text;
    default: return {};
  }
}

QVariant LogModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::DisplayRole) return QStringList{tr("Time"), tr("Level"), tr("Message")}.value(section);
  if (role == Qt::TextAlignmentRole) return int(Qt::AlignLeft | Qt::AlignVCenter);
  return {};
}

void LogFilter::setLeast(int level) {
  m_least = level;
  invalidateFilter();
}

void LogFilter::setNeedle(const QString& text) {
  m_needle = text;
  invalidateFilter();
}

bool LogFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  const QAbstractItemModel& lines = *sourceModel();
  const QModelIndex text = lines.index(row, LogModel::Text, parent);
  return text.data(LogModel::LevelRole).toInt() >= m_least &&
      (m_needle.isEmpty() || text.data().toString().contains(m_needle, Qt::CaseInsensitive));
}

}  // namespace kvlab
