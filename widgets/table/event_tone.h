// SPDX-License-Identifier: GPL-3.0-or-later
// The tone of what happens to a row, as the verbs `history` and `story` name it. Pure; any thread.
#pragma once
#include <QString>

#include "widgets/table/data_table.h"

namespace kvlab {

/// Ok: it came or became exact. Accent: it moved or left. Warning: it was edited or became stale. Error: damage. Muted:
/// all else.
Tone toneOfEvent(const QString& event);

}  // namespace kvlab
