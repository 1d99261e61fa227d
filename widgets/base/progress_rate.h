// SPDX-License-Identifier: GPL-3.0-or-later
// The speed of long work and the time that it still needs, from its reports. Counts from the first report of a piece of
// work: a report with another name, or with less done than before, begins another piece. Values.
#pragma once
#include <QElapsedTimer>
#include <QString>

namespace kvlab {

class ProgressRate {
 public:
  /// "120/s, 1 min 5 s left"; empty in the first second, and where nothing can be said.
  QString text(const QString& what, qint64 done, qint64 total);
  /// The same `ms` milliseconds after the first report.
  static QString textAfter(qint64 ms, qint64 done, qint64 total);

 private:
  QString m_what;
  qint64 m_first = 0, m_last = -1;  // done at the first and the last report
  QElapsedTimer m_timer;
};

}  // namespace kvlab
