// SPDX-License-Identifier: GPL-3.0-or-later
// The number of rows that each layer holds, and its limit, in words that are the same in every view. The number of
// tokens in the context is another number. Pure functions of a snapshot; any thread.
#pragma once
#include <QString>

#include "core/api/snapshot.h"

namespace kvlab {

/// "95 of 1 024 rows a layer", "64 of 64 rows a layer, window", "24 to 95 rows a layer" where layers differ.
QString layerRowsText(const Snapshot& snapshot);
/// A line for each run of layers with the same figures: "layers 0, 1: 95 of 1 024 rows (capacity of the pools)".
QString layerRowsTip(const Snapshot& snapshot);
/// Digits in groups of three.
QString grouped(qint64 number);

}  // namespace kvlab
