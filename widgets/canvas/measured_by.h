// SPDX-License-Identifier: GPL-3.0-or-later
// What gives a quantity its values where they do not come by themselves, in the words of menus, and the sentence of a
// row that has none yet. Any thread.
#pragma once
#include <QString>
#include <optional>

#include "core/api/snapshot.h"
#include "core/api/tile.h"

namespace kvlab {

/// "Measure Drift, Ctrl+D"; empty: the values come by themselves.
QString measuredBy(Quantity quantity);
/// title: the quantity within a sentence, "drift of V". The reason why a row has no value, in a layer or in any layer:
/// "resident, drift of V not measured: Measure Drift, Ctrl+D", "left through the window".
QString noValueText(const Snapshot& snapshot, LedgerId row, std::optional<CacheLayer> layer, Quantity quantity,
                    const QString& title);

}  // namespace kvlab
