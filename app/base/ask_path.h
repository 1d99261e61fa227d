// SPDX-License-Identifier: GPL-3.0-or-later
// Asks a person for a file or a folder, in a window that keeps nobody from working. GUI thread.
#pragma once
#include <QString>
#include <functional>
#include <memory>

class QWidget;

namespace kvlab {

struct PathQuestion {
  QString title;
  QString filter;  // "kvlab captures (*.kvcap)"; empty for a folder
  bool save = false;
  QString suffix = {};  // added to names without a suffix
  QString argument = "path";
  QString folder = {};  // the folder in which the search begins; empty = the current folder
  QString choice = {};  // a check box below the files; empty = none
  std::shared_ptr<bool> chosen = {};
};

inline const PathQuestion kSaveCapture{"Save Capture", "kvlab captures (*.kvcap)", true, ".kvcap"};

/// `answer` gets the path; it is not called where the person cancels.
void askForPath(QWidget* parent, const PathQuestion& question, std::function<void(QString)> answer);

}  // namespace kvlab
