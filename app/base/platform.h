// SPDX-License-Identifier: GPL-3.0-or-later
// Chooses Qt's platform before the application object exists. Called once by main.
#pragma once
#include "core/api/error.h"

namespace kvlab {

/// Shows whether a window can be shown: a display is named and answers, and Qt has the plugin for it. Qt would abort.
Status findDisplay();
/// True if somebody can see a window that is opened.
bool isWatched();
/// Uses the offscreen platform with one screen of 1920 x 1200 at 96 dpi, so that pictures are equal on every machine.
/// For runs without a display and non-interactive work. Keeps a platform set by QT_QPA_PLATFORM.
void useOffscreen();

}  // namespace kvlab
