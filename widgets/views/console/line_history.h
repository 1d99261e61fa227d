// SPDX-License-Identifier: GPL-3.0-or-later
// What was typed into a line editor: older and newer, like a shell. A plain value.
#pragma once
#include <QStringList>

namespace kvlab {

class LineHistory {
 public:
  static constexpr int kLimit = 500;

  void add(const QString& line);  // repeats of the newest line are kept once
  /// The next older line that starts with what was being typed; `typed` unchanged where none is.
  QString older(const QString& typed);
  QString newer(const QString& typed);
  const QStringList& lines() const { return m_lines; }  // oldest first
  void setLines(const QStringList& lines);

 private:
  QString step(int by, const QString& typed);
  QStringList m_lines;
  QString m_draft;  // what was typed before browsing began
  qsizetype m_at = 0;
};

}  // namespace kvlab
