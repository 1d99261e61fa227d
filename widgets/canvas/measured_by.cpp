// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/canvas/measured_by.h"

#include <QCoreApplication>

#include "widgets/base/storage_groups.h"

namespace kvlab {

QString measuredBy(Quantity quantity) {
  switch (quantity) {
    case Quantity::DriftK:
    case Quantity::DriftV: return QStringLiteral("Measure Drift, Ctrl+D");
    case Quantity::QuantK:
    case Quantity::QuantV:
    case Quantity::QuantLogit: return QStringLiteral("Measure Quantisation");
    case Quantity::DifferenceK:
    case Quantity::DifferenceV: return QStringLiteral("the view Difference, Ctrl+Alt+6");
    case Quantity::KnockOut: return QStringLiteral("K on the chosen rows");
    case Quantity::Received: return QStringLiteral("the next prompt");
    case Quantity::Surprise: return QStringLiteral("s.score(text)");
    default: return {};
  }
}

QString noValueText(const Snapshot& s, LedgerId row, std::optional<CacheLayer> layer, Quantity quantity,
                    const QString& title) {
  bool here = false;
  for (std::int32_t l = 0; at(l) < s.layers.size(); ++l)
    here = here || ((!layer || layer->value() == l) && isResident(s, CacheLayer(l), row));
  const QString how = measuredBy(quantity);
  if (!here || how.isEmpty()) return noValueText(s, row, layer, title);
  return QCoreApplication::translate("kvlab::StorageGroup", "resident, %1 not measured: %2").arg(title, how);
}

}  // namespace kvlab
