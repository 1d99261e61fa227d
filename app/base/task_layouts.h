// SPDX-License-Identifier: GPL-3.0-or-later
// The places of the views: the first layout of the window, and one layout for each task. Plain values; any thread.
#pragma once
#include <QStringList>
#include <vector>

namespace kvlab {

/// Views of each place in the order of their tabs. Views that no place lists are closed; a key or the View menu brings
/// them back as tabs.
struct TaskLayout {
  QString id, title, help;
  QStringList centre, rightTop, rightBottom, bottom, left = {};
  QStringList front = {};                // tabs in front; else the first of each place
  int right = 32, low = 27, upper = 54;  // per cent of the window: right column, bottom row; of the column: rightTop
  bool rowTools = false;                 // the tool bar for the chosen rows
  int mostRight = 0, mostLow = 0;        // pixels that these need at most; 0 = no limit
};

/// Every view in its first place, as base/views.inc says it.
TaskLayout firstLayout();
const std::vector<TaskLayout>& taskLayouts();

}  // namespace kvlab
