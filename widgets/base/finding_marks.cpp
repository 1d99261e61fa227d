// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/finding_marks.h"

#include <QStringList>
#include <algorithm>

#include "widgets/base/alignment_lamp.h"

namespace kvlab {
namespace {
template <class Wanted>
QString linesOf(const std::vector<FindingMark>& marks, const Wanted& wanted) {
  QStringList out;
  for (const FindingMark& one : marks)
    if (wanted(one)) out << QStringLiteral("✕ ") + one.text;
  return out.join(QLatin1Char('\n'));
}
}  // namespace

FindingMarks::FindingMarks(const Snapshot& snapshot) {
  for (const Finding& one : snapshot.alignment.findings)
    m_all.push_back({one.violation.layer, violatedRow(snapshot, one.violation).value_or(LedgerId(-1)),
                     findingPosition(snapshot, one), findingText(one)});
}

bool FindingMarks::in(CacheLayer layer) const {
  return std::ranges::any_of(m_all, [=](const FindingMark& one) { return one.layer == layer; });
}

bool FindingMarks::of(LedgerId row) const {
  return row.value() >= 0 && std::ranges::any_of(m_all, [=](const FindingMark& one) { return one.row == row; });
}

bool FindingMarks::of(LedgerId row, CacheLayer layer) const {
  return row.value() >= 0 &&
      std::ranges::any_of(m_all, [=](const FindingMark& one) { return one.row == row && one.concerns(layer); });
}

QString FindingMarks::text(LedgerId row) const {
  return linesOf(m_all, [=](const FindingMark& one) { return row.value() >= 0 && one.row == row; });
}

QString FindingMarks::text(LedgerId row, CacheLayer layer) const {
  return linesOf(m_all,
                 [=](const FindingMark& one) { return row.value() >= 0 && one.row == row && one.concerns(layer); });
}

QString FindingMarks::text(CacheLayer layer) const {
  return linesOf(m_all, [=](const FindingMark& one) { return one.layer == layer; });
}

}  // namespace kvlab
