// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/alignment_lamp.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>

#include "widgets/base/format.h"
#include "widgets/base/layer_text.h"
#include "widgets/base/storage_groups.h"

namespace kvlab {
namespace {

QString lampSays(const char* text) { return QCoreApplication::translate("kvlab::AlignmentLamp", text); }

AlignmentLamp wrong(const Snapshot& s) {
  QStringList layers, tips;
  for (const Finding& one : s.alignment.findings) {
    if (one.violation.layer) layers << layerText(s, *one.violation.layer);
    tips << findingText(one);
  }
  layers.removeDuplicates();
  const QString all = counted(static_cast<qint64>(tips.size()), lampSays("finding"), lampSays("findings"));
  const QString where = layers.isEmpty() ? QString()
      : layers.size() == 1               ? lampSays(" in layer %1").arg(layers.front())
                                         : lampSays(" in layers %1").arg(layers.join(", "));
  constexpr qsizetype kShown = 12;
  if (tips.size() > kShown) tips = tips.mid(0, kShown) << QStringLiteral("…");
  return {AlignmentLamp::State::Wrong, lampSays("✕ %1%2").arg(all, where), tips.join('\n')};
}

}  // namespace

QColor AlignmentLamp::colour(const Theme& theme) const {
  return state == State::Wrong ? theme.error : state == State::InStep ? theme.ok : theme.muted;
}

AlignmentLamp alignmentLamp(const Snapshot& s) {
  const Alignment& known = s.alignment;
  if (!known.findings.empty()) return wrong(s);
  const QString how = lampSays("Ctrl+I checks everything.");
  if (known.checked.value() < 0) return {AlignmentLamp::State::Unchecked, lampSays("○ not checked yet"), how};
  const QString all = known.full.value() < 0
      ? lampSays("All bytes were never checked.")
      : lampSays("All bytes were checked after tick %1.").arg(known.full.value());
  const QString tip = lampSays("The maps of all rows, and the bytes of some, were checked after tick %1. %2 %3")
                          .arg(QString::number(known.checked.value()), all, how);
  if (known.unchecked.empty())
    return {AlignmentLamp::State::InStep, lampSays("✓ in step, checked after tick %1").arg(known.checked.value()), tip};
  return {AlignmentLamp::State::Unchecked,
          lampSays("○ not checked since tick %1: then came %2")
              .arg(QString::number(known.checked.value()), QString::fromStdString(known.unchecked)),
          tip};
}

QString invariantsText(int all, int unchecked, int broken) {
  const QString of = counted(all, lampSays("invariant"), lampSays("invariants"));
  if (broken)
    return (broken == 1 ? lampSays("%1 of %2 is broken") : lampSays("%1 of %2 are broken")).arg(broken).arg(of);
  if (all == unchecked) return lampSays("no invariant was checked yet");
  const QString held =
      all - unchecked == 1 ? lampSays("1 invariant holds") : lampSays("%1 invariants hold").arg(all - unchecked);
  return unchecked ? lampSays("%1, %2 not checked yet").arg(held).arg(unchecked) : held;
}

QString findingText(const Finding& one) {
  return lampSays("%1 broken %2: %3; %4")
      .arg(QString::fromStdString(one.violation.invariant), QString::fromStdString(intervalText(one.since())),
           QString::fromStdString(one.violation.detail), QString::fromStdString(one.blame));
}

std::optional<LedgerId> violatedRow(const Snapshot& s, const Violation& v) {
  if (v.ledger || !v.layer || !v.index) return v.ledger;
  const auto layer = at(std::max(0, v.layer->value())), index = at(v.index->value());
  if (layer >= s.layers.size() || !s.layers[layer] || index >= s.layers[layer]->ledger.size()) return std::nullopt;
  return s.layers[layer]->ledger[index];
}

std::int32_t findingPosition(const Snapshot& s, const Finding& one) {
  const std::optional<LedgerId> id = violatedRow(s, one.violation);
  return id ? placeIn(s, *id, -1) : -1;
}

}  // namespace kvlab
