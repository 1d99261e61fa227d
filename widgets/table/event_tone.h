// SPDX-License-Identifier: GPL-3.0-or-later
// The tone of an event in a row's life, by its name in the verbs `history` and `story`. Pure; any thread.
#pragma once
#include <QString>

#include "widgets/table/data_table.h"

namespace kvlab {

/// Ok: it came or became exact. Accent: it moved or left. Warning: it was edited or became stale. Error: damage. Muted:
/// all else.
Tone toneOfEvent(const QString& event);

}  // namespace kvlab
