// SPDX-License-Identifier: GPL-3.0-or-later
// The entered lines of an editor, browsed as in a shell. A plain value.
#pragma once
#include <QStringList>

namespace kvlab {

class LineHistory {
 public:
  static constexpr int kLimit = 500;

  void add(const QString& line);  // equal consecutive lines are kept once
  /// The next older line that starts with the typed text; `typed` itself if there is none.
  QString older(const QString& typed);
  QString newer(const QString& typed);
  const QStringList& lines() const { return m_lines; }  // oldest first
  void setLines(const QStringList& lines);

 private:
  QString step(int by, const QString& typed);
  QStringList m_lines;
  QString m_draft;  // text before browsing began
  qsizetype m_at = 0;
};

}  // namespace kvlab
