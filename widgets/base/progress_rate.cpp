// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/progress_rate.h"

#include <QCoreApplication>

namespace kvlab {

namespace {

constexpr qint64 kFirstMs = 1000;

QString trRate(const char* text) { return QCoreApplication::translate("ProgressRate", text); }

QString shortDuration(qint64 seconds) {
  if (seconds < 60) return trRate("%1 s").arg(seconds);
  if (seconds < 3600) return trRate("%1 min %2 s").arg(seconds / 60).arg(seconds % 60);
  return trRate("%1 h %2 min").arg(seconds / 3600).arg(seconds / 60 % 60);
}

}  // namespace

QString ProgressRate::textAfter(qint64 ms, qint64 done, qint64 total) {
  if (ms < kFirstMs || done <= 0) return {};
  const double rate = 1000.0 * static_cast<double>(done) / static_cast<double>(ms);
  if (total <= 0) return trRate("%1/s").arg(rate, 0, 'g', rate < 100 ? 2 : 4);
  const auto left = static_cast<qint64>(static_cast<double>(total - done) / rate + 0.5);
  return trRate("%1/s, %2 left").arg(rate, 0, 'g', rate < 100 ? 2 : 4).arg(shortDuration(left));
}

QString ProgressRate::text(const QString& what, qint64 done, qint64 total) {
  if (what != m_what || done < m_last || !m_timer.isValid()) {
    m_what = what;
    m_first = done;
    m_timer.start();
  }
  m_last = done;
  return textAfter(m_timer.elapsed(), done - m_first, total > 0 ? total - m_first : 0);
}

}  // namespace kvlab
