// SPDX-License-Identifier: GPL-3.0-or-later
// The Lanes view as text, a line per lane. Pure functions; any thread.
#pragma once
#include <QString>

#include "core/api/lanes_view.h"

namespace kvlab {

/// Numbers of tokens in each state, layer by layer.
QString cellLines(const LanesView& view);
/// Measured tokens, mean and extremes of the losses (of lane 0) and of the differences to lane 0 (of the others).
QString lossLines(const LanesView& view);

}  // namespace kvlab
