// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/log/log_model.h"

#include <algorithm>

namespace kvlab {

namespace {
Tone toneOf(int level, Tone calm) {
  return level >= 4 ? Tone::Error : level == 3 ? Tone::Warning : level <= 1 ? Tone::Faint : calm;
}
}  // namespace

LogModel::LogModel(QObject* parent) : LineModel(parent) {
  const auto tone = [](Tone calm) { return [calm](const LogLine& line) { return toneOf(line.level, calm); }; };
  add("time", tr("Time"), {}, {"00:00:00.000", 1}, [](const LogLine& line) {
    return line.time.toString(QStringLiteral("HH:mm:ss.zzz"));
  }).toned(tone(Tone::Faint));
  add("level", tr("Level"), {}, {"critical", 2}, [](const LogLine& line) { return logLevelName(line.level); })
      .words()
      .toned(tone(Tone::Muted));
  add("text", tr("Message"), {}, QString(26, 'x'), [](const LogLine& line) { return line.text; })
      .toned(tone(Tone::Normal))
      .tips([](const LogLine& line) { return line.text; });
  withLines(kBadRole, [](const LogLine& line) { return line.level >= 4; });
}

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
  m_dropped = 0;
  replace({});
}

void LogFilter::setLeast(int level) {
  m_least = level;
  invalidateFilter();
}

void LogFilter::setNeedle(const QString& text) {
  m_needle = text;
  invalidateFilter();
}

bool LogFilter::filterAcceptsRow(int row, const QModelIndex&) const {
  const LogLine& line = static_cast<const LogModel*>(sourceModel())->line(row);
  return line.level >= m_least && (m_needle.isEmpty() || line.text.contains(m_needle, Qt::CaseInsensitive));
}

}  // namespace kvlab
