// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/line_history.h"

namespace kvlab {

void LineHistory::add(const QString& line) {
  if (!line.trimmed().isEmpty() && (m_lines.isEmpty() || m_lines.back() != line)) m_lines.append(line);
  while (m_lines.size() > kLimit) m_lines.removeFirst();
  m_at = m_lines.size();
  m_draft.clear();
}

void LineHistory::setLines(const QStringList& lines) {
  m_lines = lines.mid(std::max<qsizetype>(0, lines.size() - kLimit));
  m_at = m_lines.size();
  m_draft.clear();
}

QString LineHistory::step(int by, const QString& typed) {
  if (m_at >= m_lines.size()) m_draft = typed;
  for (qsizetype at = m_at + by; at >= 0 && at <= m_lines.size(); at += by) {
    if (at < m_lines.size() && !m_lines[at].startsWith(m_draft)) continue;
    m_at = at;
    return at == m_lines.size() ? m_draft : m_lines[at];
  }
  return typed;
}

QString LineHistory::older(const QString& typed) { return step(-1, typed); }

QString LineHistory::newer(const QString& typed) { return m_at >= m_lines.size() ? typed : step(1, typed); }

}  // namespace kvlab
