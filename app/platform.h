// SPDX-License-Identifier: GPL-3.0-or-later
// Choosing Qt's platform before the application object exists. Called once by main.
#pragma once

namespace kvlab {

/// True if a window could be seen here.
bool hasDisplay();
/// True if somebody can see a window that is opened.
bool isWatched();
/// Without a display, or for work that nobody watches: the offscreen platform with one screen of
/// 1920 x 1200 at 96 dpi, so that pictures are the same everywhere. A platform chosen by
/// QT_QPA_PLATFORM stays.
void useOffscreen();

}  // namespace kvlab
