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

bool concernsAny(const FindingMark& one, std::span<const CacheLayer> layers) {
  return std::ranges::any_of(layers, [&](CacheLayer layer) { return one.concerns(layer); });
}
}  // namespace

FindingMarks::FindingMarks(const Snapshot& snapshot) {
  for (const Finding& one : snapshot.alignment.findings)
    m_all.push_back({one.violation.layer, violatedRow(snapshot, one.violation).value_or(LedgerId(-1)),
                     findingPosition(snapshot, one), findingText(one)});
}

QString FindingMarks::text(LedgerId row) const {
  return linesOf(m_all, [=](const FindingMark& one) { return one.names(row); });
}

QString FindingMarks::text(LedgerId row, std::span<const CacheLayer> layers) const {
  return linesOf(m_all, [=](const FindingMark& one) { return one.names(row) && concernsAny(one, layers); });
}

QString FindingMarks::text(std::span<const CacheLayer> layers) const {
  return linesOf(m_all, [=](const FindingMark& one) { return one.layer && concernsAny(one, layers); });
}

std::vector<std::int32_t> FindingMarks::rowsIn(std::span<const CacheLayer> layers,
                                               const std::vector<std::int32_t>& positionOf) const {
  std::vector<std::int32_t> out;
  for (const FindingMark& one : m_all) {
    if (one.position < 0 || !concernsAny(one, layers)) continue;
    const auto row = std::ranges::find(positionOf, one.position);
    if (row != positionOf.end()) out.push_back(static_cast<std::int32_t>(row - positionOf.begin()));
  }
  return out;
}

}  // namespace kvlab
