// SPDX-License-Identifier: GPL-3.0-or-later
// Asks a person for a file or a folder, in a window that keeps nobody from working. GUI thread.
#pragma once
#include <functional>

#include "app/command_host.h"

class QWidget;

namespace kvlab {

/// `answer` gets the path; it is not called where the person cancels.
void askForPath(QWidget* parent, const PathQuestion& question, std::function<void(QString)> answer);

}  // namespace kvlab
